/** How deliveries to a destination are going, and when it is paused for it. */
import { z } from 'zod';
import type { Executor } from '../../store/database.ts';
import type { Attempted } from './attempt.ts';
import { GIVE_UP_AFTER_MS } from './schedule.ts';

/** Successes are not recorded more often than this. */
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
  now?: () => number;
}

const NOTE = `
  update event_destinations set
    last_success_at = greatest(last_success_at, $2),
    last_failure_at = greatest(last_failure_at, $3),
    failing_since = case when $2::timestamptz is null then coalesce(failing_since, $3) end,
    last_error = coalesce($4, last_error)
   where id = $1
  returning failing_since`;

const noted = z.object({ failing_since: z.string().nullable() });

/** The health of one destination, as far as this process sees it. */
export function healthOf(db: Executor, id: string, { pause, now = Date.now }: HealthOptions): Health {
  let lastSuccess: string | null = null;
  let writtenAt = Number.NEGATIVE_INFINITY;

  /** Returns whether deliveries have failed for too long. */
  async function write(lastFailure: Attempted | undefined): Promise<boolean> {
    writtenAt = now();
    const values = [id, lastSuccess, lastFailure?.attemptedAt ?? null, lastFailure?.error ?? null];
    lastSuccess = null;
    const [row] = await db.query({ name: 'event_destinations.note_health', text: NOTE, values });
    if (!row) return false;
    const { failing_since } = noted.parse(row);
    return failing_since !== null && Date.parse(failing_since) < now() - GIVE_UP_AFTER_MS;
  }

  return {
    async note(results) {
      // Old events, sent again on request, do not say how deliveries go.
      const attempts = results.filter(({ attemptedAt, requeued }) => attemptedAt !== null && !requeued);
      const failure = attempts.findLast(({ state }) => state !== 'delivered');
      lastSuccess = attempts.findLast(({ state }) => state === 'delivered')?.attemptedAt ?? lastSuccess;
      const isFailing = (failure || now() - writtenAt > EVERY_MS) && (await write(failure));
      const reason = results.some(({ gone }) => gone) ? GONE : isFailing ? FAILING : undefined;
      if (reason !== undefined) await pause(id, reason);
      return reason !== undefined;
    },
    async flush() {
      if (lastSuccess !== null) await write(undefined);
    },
  };
}
