/** Sends finished deliveries again, on request. Each goes to the end of its stream; its event keeps its id. */
import { z } from 'zod';
import { firstIdAt } from '../../../resources/definition/id.ts';
import { eventDelivery } from '../../../resources/event-delivery.ts';
import type { Executor } from '../../store/database.ts';

/** Deliveries that one transaction of a replay looks at. */
const BATCH = 5_000;
/** A replay that takes longer is continued by another request: far below the limits of a request. */
const BUDGET_MS = 5_000;

/**
 * In the order of their events. A delivery whose event or destination does not exist is left alone. A stream that exists
 * keeps its time: its first delivery is another one.
 */
const REQUEUE = `
  with chosen as (
    select d.id from event_deliveries d
     where d.id = any($1) and d.state <> 'pending'
       and exists (select from events e where e.id = d.event_id)
       and exists (select from event_destinations t where t.id = d.destination_id)
     order by d.seq, d.id for update),
  numbered as (select id, nextval(pg_get_serial_sequence('event_queue', 'seq')) as place from chosen),
  requeued as (
    update event_deliveries d
       set state = 'pending', requeued_seq = n.place, attempts = 0, first_attempt_at = null, last_attempt_at = null,
           next_attempt_at = null, status_code = null, answer = null, error = null
      from numbered n where d.id = n.id
    returning d.destination_id, d.resource_id),
  streams as (
    insert into event_streams as s (destination_id, resource_id, pending, next_at)
    select destination_id, resource_id, count(*), now() from requeued group by 1, 2 order by 1, 2
    on conflict (destination_id, resource_id) do update set pending = s.pending + excluded.pending)
  select count(*) as requeued from requeued`;

const counted = z.object({ requeued: z.number() });

/** Returns how many of these deliveries have become pending. */
export async function requeue(db: Executor, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const [row] = await db.query({ name: 'event_deliveries.requeue', text: REQUEUE, values: [ids] });
  return counted.parse(row).requeued;
}

/** Streams that one request makes due: as many as a statement changes in about a second. */
const MOST_STREAMS = 50_000;

/** Makes what waits for another attempt at a destination due at once, the next ones first. */
export async function retryNow(db: Executor, destinationId: string): Promise<void> {
  const text = `
    update event_streams set next_at = now()
     where destination_id = $1 and resource_id = any(array(
       select resource_id from event_streams where destination_id = $1 and next_at > now() order by next_at limit $2))`;
  await db.query({ name: 'event_streams.retry_now', text, values: [destinationId, MOST_STREAMS] });
}

/** Makes the stream of a pending delivery due at once. Returns whether the delivery is pending. */
export async function hasten(db: Executor, id: string): Promise<boolean> {
  const text = `
    with pending as (select destination_id, resource_id from event_deliveries where id = $1 and state = 'pending'),
    due as (
      update event_streams s set next_at = least(s.next_at, now())
        from pending p where s.destination_id = p.destination_id and s.resource_id = p.resource_id)
    select count(*) as pending from pending`;
  const [row] = await db.query({ name: 'event_deliveries.hasten', text, values: [id] });
  return row?.pending === 1;
}

export interface Replay {
  /** Of the destination. */
  account: string;
  since: Date;
  until: Date;
  only: 'all' | 'failed';
  /** Only deliveries after this one. */
  afterId?: string | undefined;
  batch?: number;
  /** Starts no further batch after this time. */
  budgetMs?: number;
}

export interface Replayed {
  requeued: number;
  /** The last delivery that was looked at; undefined if there are no more. */
  last: string | undefined;
}

/** Ids sort by the time at which deliveries were created. */
const PAGE = `
  select id, state from event_deliveries
   where (destination_id, account_id, id) >= ($1, $2, $3) and (destination_id, account_id, id) > ($1, $2, $4)
     and (destination_id, account_id, id) < ($1, $2, $5)
   order by destination_id, account_id, id limit $6`;

const page = z.array(z.object({ id: z.string(), state: z.string() }));

/** Sends deliveries of a destination again, oldest first. Each batch is committed on its own. */
export async function replayDeliveries(
  db: Executor,
  destinationId: string,
  { account, since, until, only, afterId = '', batch = BATCH, budgetMs = BUDGET_MS }: Replay,
): Promise<Replayed> {
  const end = performance.now() + budgetMs;
  const [from, before] = [since, until].map((time) => firstIdAt(eventDelivery.prefix, time));
  let requeued = 0;
  let last = afterId;
  do {
    const values = [destinationId, account, from, last, before, batch];
    const found = page.parse(await db.query({ name: 'event_deliveries.of_replay', text: PAGE, values }));
    const chosen = found.filter(({ state }) => only === 'all' || state === only);
    requeued += await requeue(
      db,
      chosen.map(({ id }) => id),
    );
    if (found.length < batch) return { requeued, last: undefined };
    last = found.at(-1)?.id ?? last;
  } while (performance.now() < end);
  return { requeued, last };
}
