/**
 * Deletes old rows in batches, walking over the ids, which sort by time. Each statement looks at a limited number of rows,
 * including those that stay, so that none has to pass over many of them.
 */
import { z } from 'zod';
import type { Database } from './database.ts';
import { databaseTime } from './database-time.ts';
import { LOCKS, tryLockUntilCommit } from './locks.ts';
import type { Statement } from './statement.ts';

/** Rows that one statement looks at: few enough not to make others wait. */
const BATCH = 1000;

export interface Retention {
  keptMs: number;
  /** Default: the database's. */
  now?: number;
  batch?: number;
  /** Stops after the batch under way. */
  signal?: AbortSignal;
}

export interface Batch {
  /** The last id that was looked at; empty at first. */
  after: string;
  limit: number;
  /** By the clock of the database. */
  now: number;
}

const page = z.object({ last: z.string().nullable(), deleted: z.number() });

/**
 * Returns the number of deleted rows. Of several processes, one does the work; the others find the lock taken and stop.
 * @param statementOf deletes from one batch; returns its last id and the number of deleted rows (`last`, `deleted`)
 */
export async function prune(
  db: Database,
  { now, batch = BATCH, signal }: Omit<Retention, 'keptMs'>,
  statementOf: (batch: Batch) => Statement,
): Promise<number> {
  const time = now ?? (await databaseTime(db));
  let deleted = 0;
  let after: string | null = '';
  while (after !== null && !signal?.aborted) {
    const statement = statementOf({ after, limit: batch, now: time });
    const [done] = await db.transaction(async (tx) =>
      (await tryLockUntilCommit(tx, LOCKS.eventRetention)) ? tx.query(statement) : [],
    );
    if (!done) break;
    const found: z.output<typeof page> = page.parse(done);
    deleted += found.deleted;
    after = found.last;
  }
  return deleted;
}
