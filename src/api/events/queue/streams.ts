/**
 * Streams of deliveries: all that is pending for one destination and resource, one after the other. Each function is one
 * statement. Those that change a stream take the lease of its destination as proof that no other process works on it.
 */
import { z } from 'zod';
import { heldBy, type Lease } from '../../leases/leases.ts';
import type { Executor } from '../../store/database.ts';

/** The name of the lease of a destination. */
export const leaseOf = (destinationId: string) => `event_destination/${destinationId}`;
/** The destination of a lease. */
export const destinationOf = ({ name }: Lease) => name.slice(name.indexOf('/') + 1);

/**
 * Active destinations that have something due and that no process works on; at most `limit` of them, first those that no
 * process has worked on for longest.
 */
export async function dueDestinations(db: Executor, limit: number): Promise<string[]> {
  const text = `
    select d.id from event_destinations d
      left join leases l on l.name = 'event_destination/' || d.id
     where d.status = 'active'
       and exists (select from event_streams s where s.destination_id = d.id and s.next_at <= now())
       and (l.until <= now() or l.until is null)
     order by l.until nulls first limit $1`;
  const found = await db.query({ name: 'event_streams.due_destinations', text, values: [limit] });
  return found.map(({ id }) => String(id));
}

const queuedEvent = z.object({
  id: z.string(),
  type: z.string(),
  occurred_at: z.string(),
  actor: z.string(),
  resource_id: z.string(),
  payload: z.record(z.string(), z.unknown()),
  revision: z.number().nullish(),
  changed_fields: z.array(z.string()).nullish(),
});

/** The row of an event. */
export type QueuedEvent = Readonly<z.output<typeof queuedEvent>>;

const head = z.object({
  resourceId: z.string(),
  id: z.string().nullable(),
  seq: z.number().nullable(),
  attempts: z.number().nullable(),
  sinceFirstAttemptMs: z.number().nullable(),
  event: queuedEvent.nullable(),
  requeued: z.boolean(),
  wanted: z.boolean(),
});

/** The first pending delivery of a stream. */
export interface Head {
  resourceId: string;
  /** Of the delivery; null if the stream has none. */
  id: string | null;
  seq: number | null;
  /** Attempts so far, all of which have failed. */
  attempts: number | null;
  sinceFirstAttemptMs: number | null;
  /** Null if it has been deleted. */
  event: QueuedEvent | null;
  /** Whether somebody has asked to make it again. */
  requeued: boolean;
  /** Whether it is still to be sent: on request, or since a subscription that asked for it still sends to this destination. */
  wanted: boolean;
}

/** What is due at a destination: the heads of at most `limit` streams, those due longest first, except the given ones. */
export async function dueHeads(
  db: Executor,
  destinationId: string,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<Head[]> {
  const text = `
    select s.resource_id as "resourceId", d.id, d.seq, d.attempts, to_jsonb(e) as event,
           (extract(epoch from now() - d.first_attempt_at) * 1000)::float8 as "sinceFirstAttemptMs",
           d.requeued_seq is not null as requeued,
           d.requeued_seq is not null or exists (
             select from event_subscriptions b
              where b.id = any(d.subscription_ids) and d.destination_id = any(b.destination_ids)) as wanted
      from (select resource_id, next_at from event_streams
             where destination_id = $1 and next_at <= now() and resource_id <> all($3)
             order by next_at limit $2) s
      left join lateral (
        select * from event_deliveries d
         where d.destination_id = $1 and d.resource_id = s.resource_id and d.state = 'pending'
         order by coalesce(d.requeued_seq, d.seq) limit 1) d on true
      left join events e on e.id = d.event_id
     order by s.next_at`;
  const found = await db.query({ name: 'event_streams.due_heads', text, values: [destinationId, limit, except] });
  return z.array(head).parse(found);
}

/** What became of a head. */
export interface Settled {
  resourceId: string;
  /** Null for a stream without deliveries. */
  id: string | null;
  state: 'pending' | 'delivered' | 'failed' | 'dropped';
  /** When the stream is due again: milliseconds from now by the clock of the database; null: at once. */
  retryMs: number | null;
  /** Whether an attempt was made. */
  attempted: boolean;
  statusCode: number | null;
  answer: string | null;
  error: string | null;
}

const SETTLED = `(
  select r.*, now() + "retryMs" * interval '1 millisecond' as next_at, case when attempted then now() end as attempted_at
    from jsonb_to_recordset($3::jsonb) as r ("resourceId" text, id text, state text, "retryMs" float8, attempted boolean,
      "statusCode" integer, answer text, error text)) r`;

/**
 * Records what became of heads. Returns false, and changes nothing, if the lease has been lost. A stream to which something
 * is added at the same moment may count one too many: it then has a head without a delivery, which ends the error.
 */
export async function settle(db: Executor, lease: Lease, settled: readonly Settled[]): Promise<boolean> {
  const text = `
    with held as (${heldBy(1)}),
    result as (select r.* from held, ${SETTLED}),
    delivery as (
      update event_deliveries d
         set state = r.state, attempts = d.attempts + r.attempted::integer,
             first_attempt_at = coalesce(d.first_attempt_at, r.attempted_at),
             last_attempt_at = coalesce(r.attempted_at, d.last_attempt_at), next_attempt_at = r.next_at,
             status_code = r."statusCode", answer = r.answer, error = r.error
        from result r where d.id = r.id and d.id = any($5)),
    ended as (
      delete from event_streams s using result r
       where s.destination_id = $4 and s.resource_id = r."resourceId" and s.resource_id = any($6)
         and r.state <> 'pending' and s.pending = 1),
    stream as (
      update event_streams s
         set pending = s.pending - (r.state <> 'pending')::integer, next_at = coalesce(r.next_at, now())
        from result r
       where s.destination_id = $4 and s.resource_id = r."resourceId" and s.resource_id = any($6)
         and not (r.state <> 'pending' and s.pending = 1))
    select count(*) as held from held`;
  // Also as arrays: without them, a plan made for short tables reads the whole of them.
  const ids = [settled.map(({ id }) => id), settled.map(({ resourceId }) => resourceId)];
  const values = [lease.name, lease.fence, JSON.stringify(settled), destinationOf(lease), ...ids];
  const [row] = await db.query({ name: 'event_streams.settle', text, values });
  return row?.held === 1;
}
