/** How deliveries to a destination are going, and when it is paused for it. */
import { z } from 'zod';
import type { Executor } from '../../store/database.ts';
import type { Attempted } from './attempt.ts';
import { PAUSE_AFTER_MS } from './schedule.ts';

/** Successes are recorded at most this often. */
const EVERY_MS = 1_000;

export const GONE = 'The receiver answered 410 Gone: it wants no more events.';
export const FAILING = 'No delivery has succeeded for three days.';

export interface Health {
  /** Returns whether the destination was paused for it. */
  note(results: readonly Attempted[]): Promise<boolean>;
  /** Records what has not been recorded yet. */
  flush(): Promise<void>;
}

export interface HealthOptions {
  pause: (destinationId: string, reason: string) => Promise<void>;
}

const NOTE = `
  update event_destinations set
    last_success_at = case when $2 then now() else last_success_at end,
    last_failure_at = case when $3 then now() else last_failure_at end,
    failing_since = coalesce(case when not $2 then failing_since end, case when $6 then now() end),
    last_error = coalesce($4, last_error)
   where id = $1
  returning coalesce(failing_since < now() - $5 * interval '1 millisecond', false) as "fails"`;

const noted = z.object({ fails: z.boolean() });

/** The health of one destination, as far as this process sees it. Times are the database's. */
export function healthOf(db: Executor, id: string, { pause }: HealthOptions): Health {
  let hasSucceeded = false;
  let writtenAt = Number.NEGATIVE_INFINITY;

  /** Returns whether deliveries have failed for too long. @param isLast whether no success came after the failure */
  async function write(failure: Attempted | undefined, isLast = false): Promise<boolean> {
    writtenAt = performance.now();
    const values = [id, hasSucceeded, failure !== undefined, failure?.error ?? null, PAUSE_AFTER_MS, isLast];
    hasSucceeded = false;
    const [row] = await db.query({ name: 'event_destinations.note_health', text: NOTE, values });
    return row !== undefined && noted.parse(row).fails;
  }

  return {
    async note(results) {
      // Old events that are sent again on request say nothing about how deliveries go.
      const attempts = results.filter(({ attempted, requeued }) => attempted && !requeued);
      const failure = attempts.findLast(({ state }) => state !== 'delivered');
      hasSucceeded ||= attempts.some(({ state }) => state === 'delivered');
      const isLast = failure !== undefined && failure === attempts.at(-1);
      const isFailing = (failure || performance.now() - writtenAt > EVERY_MS) && (await write(failure, isLast));
      const reason = results.some(({ gone }) => gone) ? GONE : isFailing ? FAILING : undefined;
      if (reason !== undefined) await pause(id, reason);
      return reason !== undefined;
    },
    async flush() {
      if (hasSucceeded) await write(undefined);
    },
  };
}
