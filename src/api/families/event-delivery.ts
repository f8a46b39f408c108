/** Deliveries of events: what was sent where, what came back, and how to send it again. */
import { DELIVERY_FILTERS, eventDelivery, replay, replayed } from '../../resources/event-delivery.ts';
import { eventDestination } from '../../resources/event-destination.ts';
import { belongingTo, idParameter, singleParameters } from '../crud/family.ts';
import { filterValues, listQuery, nextQuery, rangeOf } from '../crud/list-query.ts';
import { listView } from '../crud/paging.ts';
import { conflict, invalidByRule, notFound, refused } from '../errors/errors.ts';
import { CATALOGUE } from '../events/catalogue.ts';
import { hasten, replayDeliveries, requeue } from '../events/queue/requeue.ts';
import { operation } from '../http/operation.ts';
import type { Database } from '../store/database.ts';
import { type DeliveryRow, getDelivery, pageOfDeliveries } from '../store/event-deliveries.ts';
import { eventDestinations } from './event-destination.ts';
import { nothing } from './event-pausing.ts';

const { path } = eventDelivery;
const common = { tag: eventDestination.tag, access: 'admin', family: eventDelivery.table } as const;
const one = { id: idParameter({ id: eventDelivery.id, name: 'event_delivery' }) };

const listed = { resource: eventDelivery, filters: DELIVERY_FILTERS, combines: true };

const shown = ({ id, ...row }: DeliveryRow, base: string) => ({ id, uri: `${base}${path}/${id}`, ...row });

async function require(db: Database, id: string): Promise<DeliveryRow> {
  const row = await getDelivery(db, id);
  if (!row) throw notFound(`The event delivery ${id} does not exist.`, { id });
  return row;
}

export const listEventDeliveries = operation({
  method: 'GET',
  path,
  operationId: 'listEventDeliveries',
  summary: 'List event deliveries',
  description:
    'Lists what was or will be sent to event destinations, newest first. Filters can be combined. A page may have few ' +
    'deliveries, or none, although there are more: follow `next_page_uri` until it is null.',
  ...common,
  params: {},
  query: listQuery(listed),
  success: { status: 200, description: 'A page of event deliveries.', schema: listView(eventDelivery) },
  async handle({ caller: { account }, query, base }, { db }) {
    const only = filterValues(listed, query);
    const problem = only.type === undefined ? undefined : CATALOGUE.problem(only.type);
    if (problem) throw refused({ '?filter[type]': problem });
    const { rows, next } = await pageOfDeliveries(db, { account, ...rangeOf(eventDelivery, query), only });
    const uri = base + path;
    const next_page_uri = next === undefined ? null : `${uri}?${nextQuery(listed, query, { id: next })}`;
    return { body: { event_deliveries: rows.map((row) => shown(row, base)), uri, next_page_uri } };
  },
});

export const getEventDelivery = operation({
  method: 'GET',
  path: `${path}/{id}`,
  operationId: 'getEventDelivery',
  summary: 'Get an event delivery',
  description: 'Returns what was or will be sent, how often that was tried, and what came back last.',
  ...common,
  params: one,
  success: { status: 200, description: 'The event delivery.', schema: eventDelivery.view },
  handle: async ({ params: { id }, base }, { db }) => ({ body: shown(await require(db, id), base) }),
});

export const redeliver = operation({
  method: 'POST',
  path: `${path}/{id}/redeliver`,
  operationId: 'redeliverEvent',
  summary: 'Send an event again',
  description:
    'Makes a delivered, failed or dropped delivery pending again: it is sent after what is pending for the same resource, ' +
    'with the same event id, even if no subscription asks for it any more. Its attempts start anew. One that is pending ' +
    'and waits for another attempt, or for that of an earlier event of the resource, does not wait any longer.',
  ...common,
  params: one,
  body: nothing,
  success: { status: 200, description: 'The event delivery.', schema: eventDelivery.view },
  errors: ['CONFLICT'],
  async handle({ params: { id }, base }, { db }) {
    const row = await require(db, id);
    const isPending = (await requeue(db, [id])) === 1 || (await hasten(db, id));
    if (!isPending) throw await refusal(db, row);
    return { body: shown(await require(db, id), base) };
  },
});

async function refusal(db: Database, { destination_id, event_id }: DeliveryRow) {
  const destination = await eventDestinations.rows.get(db, destination_id);
  if (!destination) {
    const message = `The event destination ${destination_id} has been deleted already.`;
    return conflict(message, { destination_id });
  }
  return conflict(`The event ${event_id} is older than events are kept and already deleted.`, { event_id });
}

export const replayEvents = operation({
  method: 'POST',
  path: `${eventDestination.path}/{id}/replay`,
  operationId: 'replayEvents',
  summary: 'Send events of some time again',
  description:
    'Does for all deliveries of the destination that were created in a time what `redeliver` does for one; those that are ' +
    'pending, and those of events that are not kept any more, are left as they are. A response with `next` has not come to ' +
    'the end: send `next` as the body of another request. What a request has not done when it fails, repeating it does.',
  ...belongingTo(eventDestination),
  params: singleParameters(eventDestination),
  body: replay,
  success: { status: 200, description: 'How many deliveries are pending again.', schema: replayed },
  async handle(call, { db }) {
    const { id } = call.params;
    eventDestinations.require(await eventDestinations.rows.get(db, id), id, call);
    const { since, until, only, after_id } = call.body;
    const range = { since, until: until ?? new Date().toISOString(), only: only ?? 'all' } as const;
    if (Date.parse(range.until) < Date.parse(range.since))
      throw invalidByRule({ '/until': 'must not be before since' });
    const { requeued, last } = await replayDeliveries(db, id, {
      account: call.caller.account,
      since: new Date(range.since),
      until: new Date(range.until),
      only: range.only,
      afterId: after_id ?? undefined,
    });
    return { body: { requeued, next: last === undefined ? null : { ...range, after_id: last } } };
  },
});
