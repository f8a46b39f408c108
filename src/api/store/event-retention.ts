/**
 * Deletes old events. Their age counts from their delivery or, if no subscription delivers their type, from when they
 * occurred. An event that waits for its delivery is kept longer, but not forever.
 */
import { z } from 'zod';
import { firstIdAt } from '../../resources/definition/id.ts';
import type { Database } from './database.ts';
import { databaseTime } from './database-time.ts';
import { LOCKS, tryLockUntilCommit } from './locks.ts';
import type { Statement } from './statement.ts';

/** Events that one statement looks at: few enough not to make others wait. */
const BATCH = 1000;

/** How many times longer an undelivered event is kept: a destination that is down for weeks loses nothing. */
const UNDELIVERED_FACTOR = 3;

export interface Retention {
  keptMs: number;
  /** Default: the database's. */
  now?: number;
  batch?: number;
  /** Stops after the batch under way. */
  signal?: AbortSignal;
}

const page = z.object({ last: z.string().nullable(), deleted: z.number() });

/**
 * Returns the number of deleted events. Of several processes, one does the work; the others find the lock taken and
 * stop. Walks over the ids, which sort by time: an index for this would slow down every write of the API.
 */
export async function pruneEvents(db: Database, retention: Retention): Promise<number> {
  const { keptMs, now = await databaseTime(db), batch = BATCH, signal } = retention;
  const before = new Date(now - keptMs);
  const undeliveredBefore = new Date(now - keptMs * UNDELIVERED_FACTOR);
  let deleted = 0;
  let after: string | null = '';
  while (after !== null && !signal?.aborted) {
    const from: string = after;
    const [done] = await db.transaction(async (tx) => {
      if (!(await tryLockUntilCommit(tx, LOCKS.eventRetention))) return [];
      const [subscribed] = await tx.query(SUBSCRIBED);
      const types = z.array(z.string()).parse(subscribed?.types);
      return tx.query(pruning({ after: from, before, undeliveredBefore, batch, types }));
    });
    if (!done) break;
    const found = page.parse(done);
    deleted += found.deleted;
    after = found.last;
  }
  return deleted;
}

const SUBSCRIBED: Statement = {
  text: "select array(select distinct unnest(sources) from event_subscriptions where destination_ids <> '{}') as types",
  values: [],
};

interface Batch {
  /** The last id that was looked at; empty at first. */
  after: string;
  before: Date;
  /** The same for events that wait for their delivery. */
  undeliveredBefore: Date;
  batch: number;
  /** Types that a subscription delivers. */
  types: readonly string[];
}

/** Looks at one batch of events, including those that stay, so that a statement never has to pass over many of them. */
export function pruning({ after, before, undeliveredBefore, batch, types }: Batch): Statement {
  const values = [after, firstIdAt('ev', before), batch, before.toISOString(), types, undeliveredBefore.toISOString()];
  const text = `
    with batch as (
      select id from events where id > $1 and id < $2 order by id limit $3),
    gone as (
      delete from events e
       where e.id = any(array(select id from batch)) and coalesce(e.delivered_at, e.occurred_at) < $4
         and (e.delivered_at is not null or e.type <> all($5) or e.occurred_at < $6)
       returning 1)
    select (select max(id) from batch) as last, (select count(*) from gone) as deleted`;
  return { name: 'events.prune', text, values };
}
