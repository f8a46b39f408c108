/** Gauges about the objects of one kind, read at scrape time. */

import { CONDITION, REASON } from '../contract/reasons.ts';
import { findCondition } from '../kube/conditions.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { isPaused, readStatus } from '../managed/identity/recorded-status.ts';
import type { ControllerMetrics } from './metrics.ts';

type ObjectMetrics = Pick<ControllerMetrics, 'managed' | 'notReady' | 'longestNotReady' | 'paused' | 'longestPaused'>;

export class ObjectGauges {
  readonly #kind: string;
  readonly #metrics: ObjectMetrics;
  /** Every reason that has occurred: one that no object has now is 0 instead of missing. */
  readonly #reasons = new Set<string>();

  constructor(kind: string, metrics: ObjectMetrics) {
    this.#kind = kind;
    this.#metrics = metrics;
  }

  read(objects: Iterable<KubeObject>, now = Date.now()): void {
    const kind = this.#kind;
    const counts = new Map<string, number>();
    let total = 0;
    let longestMs = 0;
    let paused = 0;
    let longestPausedMs = 0;
    for (const object of objects) {
      total++;
      if (isPaused(object)) {
        paused++;
        longestPausedMs = Math.max(longestPausedMs, now - (pausedSince(object) ?? now));
        continue;
      }
      const state = notReady(object);
      if (!state) continue;
      counts.set(state.reason, (counts.get(state.reason) ?? 0) + 1);
      this.#reasons.add(state.reason);
      longestMs = Math.max(longestMs, now - state.since);
    }
    this.#metrics.managed.set({ kind }, total);
    for (const reason of this.#reasons) this.#metrics.notReady.set({ kind, reason }, counts.get(reason) ?? 0);
    this.#metrics.longestNotReady.set({ kind }, longestMs / 1000);
    this.#metrics.paused.set({ kind }, paused);
    this.#metrics.longestPaused.set({ kind }, longestPausedMs / 1000);
  }
}

interface NotReady {
  reason: string;
  /** In milliseconds since 1970. */
  since: number;
}

/** No reconcile has seen the object yet. */
const NOT_RECONCILED = 'NotReconciled';
/** Anyone who may write a status can write any reason; such a reason must not become a label. */
const OTHER = 'Other';
const REASONS: ReadonlySet<string> = new Set(Object.values(REASON));

/** Undefined if the object is Ready or paused. */
export function notReady(object: KubeObject): NotReady | undefined {
  if (isPaused(object)) return undefined;
  const ready = findCondition(readStatus(object).conditions ?? [], CONDITION.ready);
  if (ready?.status === 'True') return undefined;
  const created = Date.parse(object.metadata.creationTimestamp);
  if (ready === undefined) return { reason: NOT_RECONCILED, since: created };
  const reason = REASONS.has(ready.reason) ? ready.reason : OTHER;
  const changed = Date.parse(ready.lastTransitionTime);
  return { reason, since: Number.isNaN(changed) ? created : changed };
}

/**
 * Since when the object shows that it is paused, in milliseconds since 1970; undefined if it does not yet. A condition keeps
 * its time if its status was the same before, so the later one counts: Ready can have been Unknown, or Synced False, but
 * not both.
 */
export function pausedSince(object: KubeObject): number | undefined {
  const { conditions = [] } = readStatus(object);
  const times = [CONDITION.ready, CONDITION.synced]
    .map((type) => findCondition(conditions, type))
    .filter((found) => found?.reason === REASON.paused)
    .map((found) => Date.parse(found?.lastTransitionTime ?? ''));
  const since = Math.max(...times);
  return Number.isFinite(since) ? since : undefined;
}
