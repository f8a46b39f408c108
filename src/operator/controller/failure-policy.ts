/** What a controller does about a failed reconcile. Pure. */
import type { Failure } from '../managed/failure.ts';
import type { ShownFailure } from '../managed/status.ts';
import { LONGEST_PAUSE_MS } from './api-budget.ts';
import type { RateLimit } from './work-queue.ts';

/** Passing trouble shows in the status only when it lasts: a blip must not write ten thousand statuses. */
const FAILURES_UNTIL_SHOWN = 3;

export interface Reaction {
  /** How the key comes back. */
  retry: RateLimit;
  /** What the conditions of the object say from now on; undefined leaves them as they are. */
  show: ShownFailure | undefined;
}

/** @param failures how often in a row the object has failed, with this one */
export function reactionTo(failure: Failure, failures: number): Reaction {
  // Somebody was faster, and what they wrote is on its way.
  if (failure.kind === 'stale') return { retry: { quickFirst: true }, show: undefined };
  const { reason, message } = failure;
  if (failure.kind === 'terminal') return { retry: {}, show: { reason, message, keepReady: false } };
  return {
    retry: { atLeastMs: Math.min(failure.retryAfterMs ?? 0, LONGEST_PAUSE_MS) },
    show: failures >= FAILURES_UNTIL_SHOWN ? { reason, message, keepReady: true } : undefined,
  };
}
