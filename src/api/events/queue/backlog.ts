/** How much waits to be delivered, and for how long. */
import { z } from 'zod';
import type { Executor } from '../../store/database.ts';

const found = z.object({
  pending: z.number(),
  pausedDestinations: z.number(),
  failingDestinations: z.number(),
  oldestDueSeconds: z.number(),
});

/** What has been due longest: the first event of the queue, or a delivery to an active destination. Both are read by index. */
const BACKLOG = `
  with due (since) as (
    (select e.occurred_at from event_queue q join events e on e.id = q.event_id order by q.seq limit 1)
    union all
    select s.next_at from event_destinations d
     cross join lateral (
       select next_at from event_streams where destination_id = d.id and next_at <= now() order by next_at limit 1) s
     where d.status = 'active')
  select (select coalesce(sum(pending), 0)::float8 from event_streams
           where destination_id in (select id from event_destinations)) as pending,
         (select count(*)::float8 from event_destinations where status = 'paused') as "pausedDestinations",
         (select count(*)::float8 from event_destinations where status = 'active' and failing_since is not null)
           as "failingDestinations",
         (select greatest(coalesce(extract(epoch from now() - min(since)), 0), 0)::float8 from due)
           as "oldestDueSeconds"`;

export async function backlogOf(db: Executor) {
  const [row] = await db.query({ name: 'event_streams.backlog', text: BACKLOG, values: [] });
  return found.parse(row);
}
