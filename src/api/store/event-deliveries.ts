/** Reads the deliveries of an account. Of the filters of their list, the destination and the resource have an index. */
import { z } from 'zod';
import type { DeliveryFilters } from '../../resources/event-delivery.ts';
import { ofThisAccount } from './account-scope.ts';
import type { Executor } from './database.ts';
import { type Condition, type LogPage, type LogPageQuery, readLogPage } from './log-page.ts';

export interface DeliveryQuery extends Omit<LogPageQuery, 'within' | 'conditions'> {
  only?: DeliveryFilters;
}

const row = z.object({
  id: z.string(),
  destination_id: z.string(),
  subscription_ids: z.array(z.string()),
  event_id: z.string(),
  type: z.string(),
  resource_id: z.string(),
  state: z.enum(['pending', 'delivered', 'failed', 'dropped']),
  attempts: z.number(),
  created_at: z.string(),
  first_attempt_at: z.string().nullable(),
  last_attempt_at: z.string().nullable(),
  next_attempt_at: z.string().nullable(),
  status_code: z.number().nullable(),
  answer: z.string().nullable(),
  error: z.string().nullable(),
});
export type DeliveryRow = z.output<typeof row>;

const SHOWN = Object.keys(row.shape).join(', ');

export async function getDelivery(db: Executor, id: string): Promise<DeliveryRow | undefined> {
  const text = `select ${SHOWN} from event_deliveries where id = $1 and ${ofThisAccount()}`;
  const [found] = await db.query({ name: 'event_deliveries.get', text, values: [id] });
  return found && row.parse(found);
}

export const DELIVERIES = { table: 'event_deliveries', shown: SHOWN, row };

export const pageOfDeliveries = (db: Executor, query: DeliveryQuery): Promise<LogPage<DeliveryRow>> =>
  readLogPage(db, DELIVERIES, conditionsOf(query));

/** The conditions of a page of deliveries. A resource mostly has fewer of them than a destination. */
export function conditionsOf({ only = {}, ...query }: DeliveryQuery): LogPageQuery {
  const { subscription_id, ...columns } = only;
  const given = Object.entries(columns).flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]));
  const within =
    given.find(({ column }) => column === 'resource_id') ?? given.find(({ column }) => column === 'destination_id');
  const conditions = given
    .filter((each) => each !== within)
    // In a form that no index serves: that of the destination would be read in all accounts.
    .map(
      ({ column, value }): Condition => ({ holds: (parameter) => `coalesce(${column} = ${parameter}, false)`, value }),
    );
  const among: Condition[] =
    subscription_id === undefined
      ? []
      : [{ holds: (parameter) => `${parameter} = any(subscription_ids)`, value: subscription_id }];
  return { ...query, within, conditions: [...conditions, ...among] };
}
