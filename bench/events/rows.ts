/** Rows as changes and the fan-out write them, many at once. */
import type { Database } from '../../src/api/store/database.ts';

export const TYPE = 'ip_policy_created.v0';
/** As IP policies are shown, with a long description. */
export const PAYLOAD = { id: 'ipp_bench', uri: '/ip_policies/ipp_bench', description: 'x'.repeat(200) };

/** A destination, and a subscription to what `fill` and `change` write. */
export async function addDestination(db: Database, id: string): Promise<void> {
  await db.query({
    text: `insert into event_destinations (id, format, target, sealed_signing_secret, created_at, updated_at)
           values ($1, 'json', '{}', '', now(), now())`,
    values: [id],
  });
  await db.query({
    text: `insert into event_subscriptions (id, sources, destination_ids, created_at, updated_at)
           values ($1, array[$2], array[$3], now(), now())`,
    values: [`esb_${id}`, TYPE, id],
  });
}

let fills = 0;

/** Deliveries that are due at a destination, of events of as many resources. Ids ascend, as those of the API. */
export async function fill(db: Database, destination: string, count: number): Promise<void> {
  const values = [destination, count, JSON.stringify(PAYLOAD), TYPE, String(fills++).padStart(6, '0')];
  await db.query({
    text: `
      with numbers as (select n, $5 || lpad(n::text, 20, '0') as id from generate_series(1, $2::integer) n),
      event as (
        insert into events (id, type, occurred_at, actor, resource_id, payload)
        select 'ev_' || id, $4, now(), 'usr_bench', 'ipp_' || id, $3::jsonb from numbers),
      delivery as (
        insert into event_deliveries (id, created_at, destination_id, subscription_ids, event_id, seq, type, resource_id)
        select 'evd_' || id, now(), $1, array['esb_' || $1], 'ev_' || id, n, $4, 'ipp_' || id from numbers)
      insert into event_streams (destination_id, resource_id, pending, next_at)
      select $1, 'ipp_' || id, 1, now() from numbers`,
    values,
  });
  await db.query({ text: 'vacuum analyze event_streams', values: [] });
  await db.query({ text: 'vacuum analyze event_deliveries', values: [] });
  await db.query({ text: 'vacuum analyze events', values: [] });
}

/** One change of a new resource, queued for the subscription of a destination. @param id of its event */
export async function change(db: Database, id: string, destination: string): Promise<void> {
  await db.query({
    name: 'bench.change',
    text: `
      with event as (
        insert into events (id, type, occurred_at, actor, resource_id, payload)
        values ($1, $2, now(), 'usr_bench', 'ipp_' || $1, $3))
      insert into event_queue (event_id, subscription_ids) values ($1, array[$4])`,
    values: [id, TYPE, JSON.stringify(PAYLOAD), `esb_${destination}`],
  });
}
