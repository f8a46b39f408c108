/**
 * Notices when the cluster has the kind of a companion: at once, or once somebody has installed it. What there is of it is
 * not kept.
 */
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { ListWatch, type ListWatchOptions } from '../kube/list-watch.ts';

export interface CompanionWatchOptions extends Pick<ListWatchOptions, 'silenceMs' | 'log' | 'metrics'> {
  type: ResourceType;
  namespaces: readonly string[] | undefined;
  /** The cluster has the kind, perhaps only since now. */
  onArrival(): void;
}

export class CompanionWatch {
  readonly #parts: readonly ListWatch[];

  constructor(kube: KubeApi, { namespaces, onArrival, ...options }: CompanionWatchOptions) {
    const sink = { kept: () => [], listed: onArrival, changed: () => {}, deleted: () => {} };
    const scopes = namespaces === undefined ? [undefined] : [...new Set(namespaces)];
    this.#parts = scopes.map(
      (namespace) => new ListWatch(kube, { ...options, namespace, sink, isOptional: true, metadataOnly: true }),
    );
  }

  start(): void {
    for (const part of this.#parts) void part.start();
  }

  /** Resolves when the watch has ended. */
  async stop(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.stop()));
  }
}
