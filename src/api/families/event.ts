/** The audit log: who changed what, when, and with which request. */
import { EVENT_FILTERS, eventLog, eventWithData } from '../../resources/event.ts';
import { eventSubscription } from '../../resources/event-subscription.ts';
import { filterValues, listQuery, nextQuery, rangeOf } from '../crud/list-query.ts';
import { listView } from '../crud/paging.ts';
import { notFound, refused } from '../errors/errors.ts';
import { CATALOGUE } from '../events/catalogue.ts';
import type { Caller } from '../http/authentication.ts';
import { operation } from '../http/operation.ts';
import { getEvent as findEvent, type LogRow, pageOfLog } from '../store/event-log.ts';

const { path } = eventLog;
const common = { tag: eventSubscription.tag, access: 'anyone', family: eventLog.table } as const;
const VISIBLE =
  'Callers who are not admins see only the events of their own changes, and those of API keys and credentials that they own.';

const listed = { resource: eventLog, filters: EVENT_FILTERS, combines: true };

/** Admins see everything. */
const visibleTo = ({ admin, id }: Caller) => (admin ? undefined : id);

const shown = ({ id, ...row }: LogRow, base: string) => ({ id, uri: `${base}${path}/${id}`, ...row });

export const listEvents = operation({
  method: 'GET',
  path,
  operationId: 'listEvents',
  summary: 'List events',
  description:
    `Lists who changed what and when, newest first. ${VISIBLE} Filters can be combined. A page may have few events, or none, ` +
    'although there are more: follow `next_page_uri` until it is null.',
  ...common,
  params: {},
  query: listQuery(listed),
  success: { status: 200, description: 'A page of events.', schema: listView(eventLog) },
  async handle({ query, caller, base }, { db }) {
    const { resource_id: resourceId, ...only } = filterValues(listed, query);
    const problem = only.type === undefined ? undefined : CATALOGUE.problem(only.type);
    if (problem) throw refused({ '?filter[type]': problem });
    const range = rangeOf(eventLog, query);
    const { rows, next } = await pageOfLog(db, {
      ...range,
      account: caller.account,
      resourceId,
      only,
      visibleTo: visibleTo(caller),
    });
    const uri = base + path;
    const next_page_uri = next === undefined ? null : `${uri}?${nextQuery(listed, query, { id: next })}`;
    return { body: { events: rows.map((row) => shown(row, base)), uri, next_page_uri } };
  },
});

export const getEvent = operation({
  method: 'GET',
  path: `${path}/{id}`,
  operationId: 'getEvent',
  summary: 'Get an event',
  description: `Returns the event, with the resource as it was then. ${VISIBLE}`,
  ...common,
  params: { id: { schema: eventLog.view.shape.id, description: 'Id of the event.' } },
  success: { status: 200, description: 'The event.', schema: eventWithData },
  async handle({ params: { id }, caller, base }, { db }) {
    const row = await findEvent(db, id, visibleTo(caller));
    if (!row) throw notFound(`The event ${id} does not exist.`, { id });
    const { payload: data, ...others } = row;
    return { body: { ...shown(others, base), data } };
  },
});
