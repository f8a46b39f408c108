/**
 * Turns events into deliveries, one for each destination. One process at a time does this, in the order of the queue, so that
 * a stream has the deliveries of its resource in the order of the changes.
 */
import { z } from 'zod';
import { newId } from '../../../resources/definition/id.ts';
import type { Database } from '../../store/database.ts';
import { LOCKS, tryLockUntilCommit } from '../../store/locks.ts';
import type { Statement } from '../../store/statement.ts';

/** Events that one transaction takes. Each may go to twenty destinations and more. */
const BATCH = 500;

const taken = z.array(
  z.object({
    seq: z.number(),
    event_id: z.string(),
    account_id: z.string(),
    type: z.string(),
    resource_id: z.string(),
    destination_id: z.string().nullable(),
    subscription_ids: z.array(z.string()),
  }),
);

type Delivery = z.output<typeof taken>[number] & { id: string };

/** Takes the first events of the queue. A destination is null if the subscriptions that asked for the event are gone. */
export function taking(limit: number): Statement {
  const text = `
    with taken as (
      delete from event_queue where seq = any(array(select seq from event_queue order by seq limit $1)) returning *)
    select t.seq, t.event_id, e.account_id, e.type, e.resource_id, d.destination_id,
           array_remove(array_agg(s.id order by s.id), null) as subscription_ids
      from taken t
      join events e on e.id = t.event_id
      left join event_subscriptions s on s.id = any(t.subscription_ids)
      left join lateral unnest(s.destination_ids) d (destination_id) on true
     group by t.seq, t.event_id, e.account_id, e.type, e.resource_id, d.destination_id
     order by t.seq`;
  return { name: 'event_queue.take', text, values: [limit] };
}

/** Adds deliveries. A stream that exists already keeps its time: its first delivery is another one. */
export function adding(deliveries: readonly Delivery[]): Statement {
  const text = `
    with added as (
      insert into event_deliveries (id, created_at, destination_id, subscription_ids, event_id, seq, type, resource_id, account_id)
      select id, now(), destination_id, subscription_ids, event_id, seq, type, resource_id, account_id
        from jsonb_populate_recordset(null::event_deliveries, $1::jsonb)
      returning destination_id, resource_id)
    insert into event_streams as s (destination_id, resource_id, pending, next_at)
    select destination_id, resource_id, count(*), now() from added group by 1, 2 order by 1, 2
    on conflict (destination_id, resource_id) do update set pending = s.pending + excluded.pending`;
  return { name: 'event_deliveries.add', text, values: [JSON.stringify(deliveries)] };
}

/** Whether an event waits in the queue. Cheaper than taking nothing. */
export async function isQueued(db: Database): Promise<boolean> {
  const text = 'select exists (select from event_queue) as queued';
  const [row] = await db.query({ name: 'event_queue.peek', text, values: [] });
  return row?.queued === true;
}

/** Takes events from the queue; returns whether there may be more of them. */
export function fanOut(db: Database, batch = BATCH): Promise<boolean> {
  return db.transaction(async (tx) => {
    if (!(await tryLockUntilCommit(tx, LOCKS.eventFanOut))) return false;
    const found = taken.parse(await tx.query(taking(batch)));
    const deliveries = found
      .filter(({ destination_id }) => destination_id !== null)
      .map((delivery) => ({ id: newId('evd'), ...delivery }));
    if (deliveries.length > 0) await tx.query(adding(deliveries));
    return new Set(found.map(({ seq }) => seq)).size === batch;
  });
}
