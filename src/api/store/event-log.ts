/** Reads the audit log of an account. Of its filters, only the resource has an index. */
import { z } from 'zod';
import { FAMILIES } from '../../resources/families.ts';
import { ofThisAccount } from './account-scope.ts';
import type { Executor } from './database.ts';
import { type LogPage, type LogPageQuery, readLogPage } from './log-page.ts';

export interface LogQuery extends Omit<LogPageQuery, 'within' | 'conditions'> {
  resourceId?: string | undefined;
  /** Only events with these values (CONDITIONS). */
  only?: Readonly<Record<string, string>>;
  /** Only events that this user or bot may see: their own changes, and changes of resources that they own. */
  visibleTo?: string | undefined;
}

/** Which events each filter finds. */
const CONDITIONS = {
  type: (value: string) => `type = ${value}`,
  principal: (value: string) => `actor = ${value}`,
  api_key_id: (value: string) => `api_key_id = ${value}`,
  request_id: (value: string) => `request_id = ${value}`,
  changed_fields: (value: string) => `${value} = any (changed_fields)`,
};

const SHOWN =
  'id, type, occurred_at, resource_id, actor as principal, api_key_id, request_id, revision, changed_fields';

const row = z.object({
  id: z.string(),
  type: z.string(),
  occurred_at: z.string(),
  resource_id: z.string(),
  principal: z.string(),
  api_key_id: z.string().nullable(),
  request_id: z.string().nullable(),
  revision: z.number().nullable(),
  changed_fields: z.array(z.string()).nullable(),
});
export type LogRow = z.output<typeof row>;

const rowWithPayload = row.extend({ payload: z.record(z.string(), z.unknown()) });
export type LogRowWithPayload = z.output<typeof rowWithPayload>;

/** Payloads may be large, so only those with an owner are read. */
const HAS_OWNER = FAMILIES.filter(({ access }) => access === 'owner')
  .map(({ prefix }) => `resource_id like '${prefix}\\_%'`)
  .join(' or ');

const visible = (parameter: string) =>
  `(actor = ${parameter} or (${HAS_OWNER}) and payload->>'owner_id' = ${parameter})`;

export async function getEvent(
  db: Executor,
  id: string,
  visibleTo: string | undefined,
): Promise<LogRowWithPayload | undefined> {
  const text = `select ${SHOWN}, payload from events where id = $1 and ${ofThisAccount()} and ($2::text is null or ${visible('$2')})`;
  const [found] = await db.query({ name: 'events.get', text, values: [id, visibleTo ?? null] });
  return found && rowWithPayload.parse(found);
}

export const EVENT_LOG = { table: 'events', shown: SHOWN, row };

export const pageOfLog = (db: Executor, query: LogQuery): Promise<LogPage<LogRow>> =>
  readLogPage(db, EVENT_LOG, conditionsOf(query));

/** The conditions of a page of the audit log. */
export function conditionsOf({ resourceId, only = {}, visibleTo, ...query }: LogQuery): LogPageQuery {
  const filters = Object.entries(CONDITIONS).flatMap(([name, holds]) => {
    const value = only[name];
    return value === undefined ? [] : [{ holds, value }];
  });
  return {
    ...query,
    within: resourceId === undefined ? undefined : { column: 'resource_id', value: resourceId },
    conditions: [...filters, ...(visibleTo === undefined ? [] : [{ holds: visible, value: visibleTo }])],
  };
}
