/** Deletes old events. An event that waits for its delivery is kept longer, but not forever. */
import { firstIdAt } from '../../resources/definition/id.ts';
import type { Database } from './database.ts';
import { type Batch, prune, type Retention } from './prune.ts';
import type { Statement } from './statement.ts';

/** How many times longer an event is kept that waits: a destination that is down for weeks loses nothing. */
const WAITING_FACTOR = 3;

/** Returns the number of deleted events. */
export const pruneEvents = (db: Database, { keptMs, ...retention }: Retention): Promise<number> =>
  prune(db, retention, (batch) => pruning(batch, keptMs));

/**
 * Walks over the ids: an index for this would slow down every write of the API. Events in the queue wait, and with them
 * all later ones, since the queue has no index by event.
 */
export function pruning({ after, limit, now }: Batch, keptMs: number): Statement {
  const [before, waitingBefore] = [1, WAITING_FACTOR].map((factor) => firstIdAt('ev', new Date(now - keptMs * factor)));
  const text = `
    with batch as (
      select id from events where id > $1 and id < $2 order by id limit $3),
    gone as (
      delete from events e
       where e.id = any(array(select id from batch))
         and (e.id < $4
              or e.id < coalesce((select event_id from event_queue order by seq limit 1), $2)
                 and not exists (select from event_deliveries d where d.event_id = e.id and d.state = 'pending'))
       returning 1)
    select (select max(id) from batch) as last, (select count(*) from gone) as deleted`;
  return { name: 'events.prune', text, values: [after, before, limit, waitingBefore] };
}
