/** What a controller does after a failed reconcile. Pure. */
import type { Failure } from '../managed/failure.ts';
import type { ShownFailure } from '../managed/status.ts';
import { LONGEST_PAUSE_MS } from './api-budget.ts';
import type { RateLimit } from './work-queue.ts';

/** A transient failure shows in the status only when it lasts: a blip must not write ten thousand statuses. */
const FAILURES_UNTIL_SHOWN = 3;

export interface Reaction {
  /** How the key is requeued. */
  retry: RateLimit;
  /** What the object's conditions should say; undefined leaves them as they are. */
  show: ShownFailure | undefined;
}

/** @param failures consecutive failures of the object, including this one */
export function reactionTo(failure: Failure, failures: number): Reaction {
  // Somebody else wrote first, and the newer version will arrive by the watch.
  if (failure.kind === 'stale') return { retry: { quickFirst: true }, show: undefined };
  const { reason, message } = failure;
  if (failure.kind === 'terminal') return { retry: {}, show: { reason, message, keepReady: false } };
  return {
    retry: { atLeastMs: Math.min(failure.retryAfterMs ?? 0, LONGEST_PAUSE_MS) },
    show: failures >= FAILURES_UNTIL_SHOWN ? { reason, message, keepReady: true } : undefined,
  };
}
