/** Which objects are not Ready, in the terms of metrics: how many for each reason, and since when. */
import { CONDITION, REASON } from '../contract/reasons.ts';
import { findCondition } from '../kube/conditions.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { isPaused, readStatus } from './spec.ts';

export interface NotReady {
  reason: string;
  /** In milliseconds since 1970. */
  since: number;
}

/** Of an object that no reconcile has got round to yet. */
const NOT_RECONCILED = 'NotReconciled';
/** Whoever may write a status can write any reason; it must not become a label. */
const OTHER = 'Other';
const REASONS: ReadonlySet<string> = new Set(Object.values(REASON));

/** Undefined if the object is Ready, or somebody wants it left alone. */
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
