/** What metrics say of the objects of one kind; read when they are scraped. */
import type { KubeObject } from '../kube/kube-object.ts';
import { notReady } from '../managed/not-ready.ts';
import type { ControllerMetrics } from './metrics.ts';

export class ObjectGauges {
  readonly #kind: string;
  readonly #metrics: Pick<ControllerMetrics, 'managed' | 'notReady' | 'longestNotReady'>;
  /** All that have occurred: a reason that no object has any more is 0, instead of missing. */
  readonly #reasons = new Set<string>();

  constructor(kind: string, metrics: Pick<ControllerMetrics, 'managed' | 'notReady' | 'longestNotReady'>) {
    this.#kind = kind;
    this.#metrics = metrics;
  }

  read(objects: Iterable<KubeObject>, now = Date.now()): void {
    const kind = this.#kind;
    const counts = new Map<string, number>();
    let total = 0;
    let longestMs = 0;
    for (const object of objects) {
      total++;
      const state = notReady(object);
      if (!state) continue;
      counts.set(state.reason, (counts.get(state.reason) ?? 0) + 1);
      this.#reasons.add(state.reason);
      longestMs = Math.max(longestMs, now - state.since);
    }
    this.#metrics.managed.set({ kind }, total);
    for (const reason of this.#reasons) this.#metrics.notReady.set({ kind, reason }, counts.get(reason) ?? 0);
    this.#metrics.longestNotReady.set({ kind }, longestMs / 1000);
  }
}
