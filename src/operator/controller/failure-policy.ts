/** What a controller does after a failed reconcile. Pure. */
import type { Failure } from '../managed/object/failure.ts';
import type { ShownFailure } from '../managed/object/status.ts';
import { LONGEST_PAUSE_MS } from './api-budget.ts';
import type { RateLimit } from './work-queue.ts';

/** A transient failure shows in the status only when it lasts: a blip must not write ten thousand statuses. */
const FAILURES_UNTIL_SHOWN = 3;
/** With the default status, an object says that the operator has not seen it. */
const FAILURES_UNTIL_SEEN = 1;
/** If an object is stale this often and no newer version arrives, the cause is something else. */
const MOST_STALE = 5;
/** For failures that retrying rarely fixes; a change of the object ends the wait. */
const LONGEST_TERMINAL_MS = 10 * 60_000;

export interface Attempts {
  /** Consecutive failures of the object, including this one. */
  failures: number;
  /** How many of them, the last ones, found the same version of the object out of date. */
  stale: number;
  /** Whether no reconcile has written the object's conditions yet. */
  isPending: boolean;
}

export interface Reaction {
  /** How the key is requeued. */
  retry: RateLimit;
  /** Whether it counts as an error and is logged; if not, somebody else was merely faster. */
  isError: boolean;
  /** What the object's conditions should say; undefined leaves them as they are. */
  show: ShownFailure | undefined;
}

export function reactionTo(failure: Failure, { failures, stale, isPending }: Attempts): Reaction {
  const { reason, message } = failure;
  switch (failure.kind) {
    case 'stale':
      // Somebody else wrote first, and the newer version will arrive by the watch.
      if (stale < MOST_STALE) return { retry: { quickFirst: true }, isError: false, show: undefined };
      return { retry: {}, isError: true, show: { reason, message, keepReady: true } };
    case 'terminal':
      return {
        retry: { longestMs: LONGEST_TERMINAL_MS },
        isError: true,
        show: { reason, message, keepReady: false },
      };
    case 'transient': {
      // An API that is merely busy says when to come back.
      const isSeen = isPending && failure.retryAfterMs === undefined;
      return {
        retry: { atLeastMs: Math.min(failure.retryAfterMs ?? 0, LONGEST_PAUSE_MS) },
        isError: true,
        show:
          failures >= (isSeen ? FAILURES_UNTIL_SEEN : FAILURES_UNTIL_SHOWN)
            ? { reason, message, keepReady: true }
            : undefined,
      };
    }
  }
}
