/** When a delivery is tried again. */
import { jittered } from '../../../retry/backoff.ts';
import type { Answer } from '../wire/sender.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** After the first attempt, the second and so on; the last one repeats. */
const DELAYS = [5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR] as const;
const LAST_DELAY = 12 * HOUR;
const JITTER = 0.2;
const LONGEST_RETRY_AFTER = HOUR;
/** The time from the first attempt to the last. */
const GIVE_UP_AFTER_MS = 72 * HOUR;
/**
 * A destination without a success for this long is paused. Less than the above, since the first failure is recorded a
 * moment after it, and the last attempt must pause the destination: there may be no other.
 */
export const PAUSE_AFTER_MS = GIVE_UP_AFTER_MS - MINUTE;

/** @param state attempts so far, at least one, and the time since the first */
export function afterFailure(
  { attempts, sinceFirstMs }: { attempts: number; sinceFirstMs: number },
  { retryAfterMs = 0 }: Pick<Answer, 'retryAfterMs'>,
  random: () => number,
): { retryMs: number } | { givenUp: true } {
  const leftMs = GIVE_UP_AFTER_MS - sinceFirstMs;
  if (leftMs <= 0) return { givenUp: true };
  const delay = jittered(DELAYS[attempts - 1] ?? LAST_DELAY, JITTER, random);
  return { retryMs: Math.min(leftMs, Math.max(delay, Math.min(retryAfterMs, LONGEST_RETRY_AFTER))) };
}
