/** The outbox: events, written by the statement that makes the change, and read for delivery. */
import { newId } from '../../resources/definition/id.ts';
import { eventTypes } from '../../resources/definition/resource.ts';

export interface OutboxEvent {
  id: string;
  type: string;
  occurred_at: string;
  /** Id of the user or bot who made the change. */
  actor: string;
  resource_id: string;
  /** The resource as the API shows it, without secrets; for a deletion, as it was. */
  payload: object;
}

export type ChangeKind = keyof ReturnType<typeof eventTypes>;

/** The event of one change. */
export function changeEvent(name: string, kind: ChangeKind, actor: string, payload: { id: string }): OutboxEvent {
  return {
    id: newId('ev'),
    type: eventTypes(name)[kind],
    occurred_at: new Date().toISOString(),
    actor,
    resource_id: payload.id,
    payload,
  };
}

const COLUMNS = ['id', 'type', 'occurred_at', 'actor', 'resource_id', 'payload'];

/** CTEs that insert one event, whose values are parameters from `$first` on, and queue it for its subscriptions. */
export function eventCte(first: number): string {
  const parameters = COLUMNS.map((_, index) => `$${first + index}`).join(', ');
  return `
    event as (insert into events (${COLUMNS.join(', ')}) values (${parameters})),
    queued as (
      insert into event_queue (event_id, subscription_ids)
      select $${first + COLUMNS.indexOf('id')}, array_agg(id) from event_subscriptions
       where ${subscribesTo(`$${first + COLUMNS.indexOf('type')}`)} having count(*) > 0)`;
}

const subscribesTo = (type: string) => `${type} = any(sources) and destination_ids <> '{}'`;

/** How many values `eventCte` takes. */
export const EVENT_VALUES = COLUMNS.length;

/** The values for `eventCte`. */
export function eventValues(event: OutboxEvent): unknown[] {
  const { id, type, occurred_at, actor, resource_id, payload } = event;
  return [id, type, occurred_at, actor, resource_id, JSON.stringify(payload)];
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
