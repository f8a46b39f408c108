/** An annotation of a Lease, in which an operator keeps a value from one process to the next. */
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../../retry/backoff.ts';
import type { KubeApi } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject } from './kube-object.ts';
import { LEASES } from './leader-election.ts';

export interface LeaseAnnotationOptions {
  namespace: string;
  /** Of the Lease. */
  name: string;
  annotation: string;
}

/** Losing more races than this points to another problem. */
const MOST_ATTEMPTS = 5;
const PAUSE = { firstMs: 20, longestMs: 1_000 };

export class LeaseAnnotation {
  readonly #api: KubeApi;
  readonly #options: LeaseAnnotationOptions;

  constructor(api: KubeApi, options: LeaseAnnotationOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Of the Lease. */
  get namespace(): string {
    return this.#options.namespace;
  }

  get name(): string {
    return this.#options.annotation;
  }

  /** @throws KubeError, KubeUnreachableError */
  async read(): Promise<string | undefined> {
    return (await this.#find())?.metadata.annotations?.[this.name];
  }

  /**
   * Writes it, if need be on a new Lease without a holder.
   * @throws KubeError (404 if there is no such namespace), KubeUnreachableError
   */
  async write(value: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const lease = await this.#find();
      try {
        if (lease) await this.#annotate(lease, value);
        else await this.#create(value);
        return;
      } catch (error) {
        // The holder renews every few seconds. A 404 is a race only if the Lease existed just now.
        const isRace = error instanceof KubeError && (error.isConflict || (lease !== undefined && error.isNotFound));
        if (!isRace || attempt === MOST_ATTEMPTS) throw error;
      }
      await delay(backoff(attempt, PAUSE));
    }
  }

  async #annotate(lease: KubeObject, value: string): Promise<void> {
    const { namespace, name } = this.#options;
    const metadata = { ...lease.metadata, annotations: { ...lease.metadata.annotations, [this.name]: value } };
    await this.#api.replace(LEASES, name, { ...lease, metadata }, namespace);
  }

  async #create(value: string): Promise<void> {
    const { namespace, name } = this.#options;
    const metadata = { name, namespace, annotations: { [this.name]: value } };
    await this.#api.create(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }, namespace);
  }

  #find() {
    const { namespace, name } = this.#options;
    return this.#api.find(LEASES, name, namespace);
  }
}
