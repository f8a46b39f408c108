/**
 * Which of the watched namespaces do not exist. With a namespace go the Roles in it: to the operator, one that was deleted
 * looks like one that it may not read.
 */
import type { Logger } from 'pino';
import type { KubeApi, ResourceType } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import type { KubeMetrics } from './metrics.ts';

export const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };

/** Every watch of a namespace asks when it is refused; they share an answer for this long. */
const KEPT_MS = 2_000;

export interface NamespacePresenceOptions {
  log: Logger;
  metrics: Pick<KubeMetrics, 'namespaceMissing'>;
}

export class NamespacePresence {
  readonly #api: KubeApi;
  readonly #options: NamespacePresenceOptions;
  readonly #asked = new Map<string, { at: number; isMissing: Promise<boolean> }>();
  readonly #missing = new Set<string>();

  constructor(api: KubeApi, options: NamespacePresenceOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** The namespaces that did not exist when they were last asked for. */
  get missing(): readonly string[] {
    return [...this.#missing].sort();
  }

  /** False also if that cannot be told. */
  isMissing(namespace: string): Promise<boolean> {
    const known = this.#asked.get(namespace);
    if (known && performance.now() - known.at < KEPT_MS) return known.isMissing;
    const isMissing = this.#ask(namespace);
    this.#asked.set(namespace, { at: performance.now(), isMissing });
    return isMissing;
  }

  /** Something was listed in the namespace. */
  seen(namespace: string): void {
    this.#note(namespace, false);
  }

  async #ask(namespace: string): Promise<boolean> {
    try {
      const isMissing = (await this.#api.find(NAMESPACES, namespace, undefined)) === undefined;
      this.#note(namespace, isMissing);
      return isMissing;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return false;
    }
  }

  #note(namespace: string, isMissing: boolean): void {
    if (isMissing === this.#missing.has(namespace)) return;
    const { log, metrics } = this.#options;
    metrics.namespaceMissing.set({ namespace }, isMissing ? 1 : 0);
    if (isMissing) {
      this.#missing.add(namespace);
      log.warn({ namespace }, skipped(namespace));
    } else {
      this.#missing.delete(namespace);
      log.info({ namespace }, `namespace ${namespace} exists again`);
    }
  }
}

/** What the log and `/readyz` say of a namespace that does not exist. */
export const skipped = (namespace: string) => `namespace ${namespace} does not exist; it is skipped until it does`;
