/**
 * Which of the watched namespaces do not exist, or are being deleted. With a namespace go the Roles in it, often before its
 * other objects: to the operator, it looks like one that it may not read.
 */
import type { Logger } from 'pino';
import type { KubeApi, ResourceType } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import type { KubeMetrics } from './metrics.ts';

export const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };

/** Every watch of a namespace asks when it is refused; they share an answer for this long. */
const KEPT_MS = 2_000;

/** `terminating`: it is being deleted, and may still have objects. */
export type Absence = 'missing' | 'terminating';

export interface NamespacePresenceOptions {
  log: Logger;
  metrics: Pick<KubeMetrics, 'namespaceMissing'>;
}

export class NamespacePresence {
  readonly #api: KubeApi;
  readonly #options: NamespacePresenceOptions;
  readonly #asked = new Map<string, { at: number; absence: Promise<Absence | undefined> }>();
  readonly #skipped = new Map<string, Absence>();

  constructor(api: KubeApi, options: NamespacePresenceOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Which namespaces are skipped, each in a sentence. */
  get skipped(): readonly string[] {
    return [...this.#skipped].map(([namespace, absence]) => skipped(namespace, absence)).sort();
  }

  /** Of a namespace that may not be listed. Undefined also if that cannot be told. */
  absenceOf(namespace: string): Promise<Absence | undefined> {
    const known = this.#asked.get(namespace);
    if (known && performance.now() - known.at < KEPT_MS) return known.absence;
    const absence = this.#ask(namespace);
    this.#asked.set(namespace, { at: performance.now(), absence });
    return absence;
  }

  /** Something was listed in the namespace. */
  seen(namespace: string): void {
    this.#note(namespace, undefined);
  }

  async #ask(namespace: string): Promise<Absence | undefined> {
    try {
      const found = await this.#api.find(NAMESPACES, namespace, undefined);
      const isTerminating = found?.metadata.deletionTimestamp !== undefined;
      const absence = found ? (isTerminating ? 'terminating' : undefined) : 'missing';
      this.#note(namespace, absence);
      return absence;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return undefined;
    }
  }

  #note(namespace: string, absence: Absence | undefined): void {
    if (absence === this.#skipped.get(namespace)) return;
    const { log, metrics } = this.#options;
    metrics.namespaceMissing.set({ namespace }, absence ? 1 : 0);
    if (absence) {
      this.#skipped.set(namespace, absence);
      log.warn({ namespace }, skipped(namespace, absence));
    } else {
      this.#skipped.delete(namespace);
      log.info({ namespace }, `namespace ${namespace} is watched again`);
    }
  }
}

/** What the log, `/readyz` and conditions say of a namespace that is skipped. */
export function skipped(namespace: string, absence: Absence): string {
  return absence === 'missing'
    ? `namespace ${namespace} does not exist; it is skipped until it does`
    : `namespace ${namespace} is being deleted, and the operator has no rights there; its objects wait until it has`;
}
