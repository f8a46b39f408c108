/** Deletes old deliveries, and those of deleted destinations. */
import { z } from 'zod';
import { firstIdAt } from '../../../resources/definition/id.ts';
import { eventDelivery } from '../../../resources/event-delivery.ts';
import type { Database } from '../../store/database.ts';
import { type Batch, prune, type Retention } from '../../store/prune.ts';
import type { Statement } from '../../store/statement.ts';

/** Returns the number of deleted deliveries. Those that are pending stay for as long as their events. */
export const pruneDeliveries = (db: Database, { keptMs, ...retention }: Retention): Promise<number> =>
  prune(db, retention, (batch) => pruning(batch, keptMs));

/**
 * A stream still counts pending deliveries that are deleted here, since only the holder of the lease may change the count. It
 * corrects it when it finds the stream empty.
 */
export function pruning({ after, limit, now }: Batch, keptMs: number): Statement {
  const before = new Date(now - keptMs);
  const text = `
    with batch as (
      select id from event_deliveries where id > $1 and id < $2 order by id limit $3),
    gone as (
      delete from event_deliveries d
       where d.id = any(array(select id from batch))
         and case when d.state = 'pending' then not exists (select from events e where e.id = d.event_id)
                  else coalesce(d.last_attempt_at, d.created_at) < $4 end
       returning 1)
    select (select max(id) from batch) as last, (select count(*) from gone) as deleted`;
  const values = [after, firstIdAt(eventDelivery.prefix, before), limit, before.toISOString()];
  return { name: 'event_deliveries.prune', text, values };
}

/** Rows of deleted destinations that one statement deletes. */
const BATCH = 1000;

const TABLES = ['event_streams', 'event_deliveries'] as const;
type Table = (typeof TABLES)[number];

const found = z.array(z.object({ id: z.string() }));

/** Deletes the streams and deliveries of deleted destinations. Returns the number of deliveries. */
export async function pruneDestinations(
  db: Database,
  { batch = BATCH, signal }: Pick<Retention, 'batch' | 'signal'> = {},
): Promise<number> {
  let deleted = 0;
  for (const table of TABLES) {
    for (const { id } of found.parse(await db.query(deletedDestinations(table)))) {
      let count = batch;
      while (count === batch && !signal?.aborted) {
        const [done] = await db.query(ofDestination(table, id, batch));
        count = Number(done?.deleted);
        if (table === 'event_deliveries') deleted += count;
      }
    }
  }
  return deleted;
}

/** Skips from one destination to the next in the index. */
export function deletedDestinations(table: Table): Statement {
  const text = `
    with recursive known (id) as (
      (select destination_id from ${table} order by destination_id limit 1)
      union all
      select (select destination_id from ${table} where destination_id > k.id order by destination_id limit 1)
        from known k where k.id is not null)
    select k.id from known k
     where k.id is not null and (select d.id from event_destinations d where d.id = k.id) is null`;
  return { name: `${table}.deleted_destinations`, text, values: [] };
}

/** Unnamed, so that it is planned for the destination. In order of an index, so that it never starts from the whole table. */
export function ofDestination(table: Table, id: string, limit: number): Statement {
  const key = table === 'event_streams' ? 'resource_id' : 'account_id, id';
  const text = `
    with gone as (
      delete from ${table} where ctid = any(array(
        select ctid from ${table} where destination_id = $1 order by destination_id, ${key} limit $2))
      returning 1)
    select count(*) as deleted from gone`;
  return { text, values: [id, limit] };
}
