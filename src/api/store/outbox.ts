/** The outbox: events, written by the statement that makes the change, and read for delivery. */
import { newId, timeOfId } from '../../resources/definition/id.ts';
import { eventTypes } from '../../resources/definition/resource.ts';
import { CURRENT_ACCOUNT } from './account-scope.ts';

/** Who makes a change, and with which request. */
export interface Author {
  /** The user or bot, and the API key that they use. */
  readonly caller: { readonly id: string; readonly keyId: string | null };
  /** Null: the service makes the change itself. */
  readonly requestId: string | null;
}

export interface Change {
  kind: keyof ReturnType<typeof eventTypes>;
  /** The resource as the API shows it, without secrets; for a deletion, as it was. */
  payload: { id: string };
  /** The revision that the change gives. A deletion counts as well, so that its event is newer than all others. */
  revision: number;
  /** Of an update: the members of the payload that differ from before. */
  changedFields?: readonly string[] | undefined;
}

export interface OutboxEvent {
  id: string;
  type: string;
  occurred_at: string;
  actor: string;
  api_key_id: string | null;
  request_id: string | null;
  resource_id: string;
  payload: object;
  revision: number;
  changed_fields: readonly string[] | null;
}

/** The event of one change. @param subject what has changed, as in the names of event types: `ip_policy` */
export function changeEvent({ caller, requestId }: Author, subject: string, change: Change): OutboxEvent {
  const { kind, payload, revision, changedFields } = change;
  const id = newId('ev');
  return {
    id,
    type: eventTypes(subject)[kind],
    occurred_at: timeOfId(id),
    actor: caller.id,
    api_key_id: caller.keyId,
    request_id: requestId,
    resource_id: payload.id,
    payload,
    revision,
    changed_fields: changedFields ?? null,
  };
}

const COLUMNS = [
  'id',
  'type',
  'occurred_at',
  'actor',
  'api_key_id',
  'request_id',
  'resource_id',
  'payload',
  'revision',
  'changed_fields',
] as const satisfies readonly (keyof OutboxEvent)[];

/** CTEs that insert one event, whose values are parameters from `$first` on, and queue it for its subscriptions. */
export function eventCte(first: number): string {
  const parameters = COLUMNS.map((_, index) => `$${first + index}`).join(', ');
  return `
    event as (insert into events (${COLUMNS.join(', ')}) values (${parameters})),
    queued as (
      insert into event_queue (event_id, subscription_ids)
      select $${first + COLUMNS.indexOf('id')}, array_agg(s.id) from event_subscriptions s
       where ${subscribesTo(`$${first + COLUMNS.indexOf('type')}`)} having count(*) > 0)`;
}

/** Also without row level security, which restricts no background job. The account is a query, so that it is evaluated once. */
const subscribesTo = (type: string) =>
  `${type} = any(s.sources) and s.destination_ids <> '{}' and s.account_id = (select ${CURRENT_ACCOUNT})`;

/** How many values `eventCte` takes. */
export const EVENT_VALUES = COLUMNS.length;

/** The values for `eventCte`. */
export function eventValues(event: OutboxEvent): unknown[] {
  return COLUMNS.map((column) => (column === 'payload' ? JSON.stringify(event.payload) : event[column]));
}

/** The same for events given as one JSON array in parameter `$at`. */
export function eventsCte(at: number): string {
  const columns = COLUMNS.join(', ');
  const given = `jsonb_populate_recordset(null::events, $${at}::jsonb)`;
  return `
    event as (insert into events (${columns}) select ${columns} from ${given}),
    queued as (
      insert into event_queue (event_id, subscription_ids)
      select g.id, array_agg(s.id) from ${given} g join event_subscriptions s on ${subscribesTo('g.type')} group by g.id)`;
}
