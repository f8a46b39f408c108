/** An annotation of a Lease: what an operator remembers from one process to the next, in an object that it has anyway. */
import type { KubeApi } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import { LEASES } from './leader-election.ts';

export interface LeaseAnnotationOptions {
  namespace: string;
  /** Of the Lease. */
  name: string;
  annotation: string;
}

export class LeaseAnnotation {
  readonly #api: KubeApi;
  readonly #options: LeaseAnnotationOptions;

  constructor(api: KubeApi, options: LeaseAnnotationOptions) {
    this.#api = api;
    this.#options = options;
  }

  get name(): string {
    return this.#options.annotation;
  }

  /** @throws KubeError, KubeUnreachableError */
  async read(): Promise<string | undefined> {
    return (await this.#find())?.metadata.annotations?.[this.name];
  }

  /** Writes it, if need be on a new Lease without a holder. @throws KubeError, KubeUnreachableError */
  async write(value: string): Promise<void> {
    while (!(await this.#tryWrite(value)));
  }

  /** False if somebody else wrote at the same time: the holder renews every few seconds. */
  async #tryWrite(value: string): Promise<boolean> {
    const { namespace, name } = this.#options;
    const added = { [this.name]: value };
    try {
      const lease = await this.#find();
      if (!lease) {
        const metadata = { name, namespace, annotations: added };
        await this.#api.create(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }, namespace);
        return true;
      }
      const metadata = { ...lease.metadata, annotations: { ...lease.metadata.annotations, ...added } };
      await this.#api.replace(LEASES, name, { ...lease, metadata }, namespace);
      return true;
    } catch (error) {
      if (error instanceof KubeError && (error.isConflict || error.isNotFound)) return false;
      throw error;
    }
  }

  #find() {
    const { namespace, name } = this.#options;
    return this.#api.find(LEASES, name, namespace);
  }
}
