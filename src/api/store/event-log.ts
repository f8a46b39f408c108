/**
 * Reads the audit log, newest first. An index for each filter would slow down every write of the API, so only those of one
 * resource have one. Any other condition is tried on a limited number of events at a time: a page may be short, or even
 * empty, and then says where the next one starts.
 */
import { z } from 'zod';
import { FAMILIES } from '../../resources/families.ts';
import type { Executor } from './database.ts';
import { FIRST, LAST } from './page-statement.ts';
import type { Statement } from './statement.ts';

/** Events that one page looks at: a fraction of a second, even if all are read from disk. */
export const LOOKED_AT = 20_000;

export interface LogQuery {
  /** Only events with a smaller id. */
  before?: string | undefined;
  /** Only events with this id or a larger one. */
  from?: string | undefined;
  limit: number;
  resourceId?: string | undefined;
  /** Only events with these values (COLUMNS). */
  only?: Readonly<Record<string, string>>;
  /** Only events that this user or bot may see: of their own changes, and of what they own. */
  visibleTo?: string | undefined;
  lookedAt?: number;
}

/** The columns of the conditions. */
const COLUMNS = { type: 'type', principal: 'actor', api_key_id: 'api_key_id', request_id: 'request_id' };

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
  const text = `select ${SHOWN}, payload from events where id = $1 and ($2::text is null or ${visible('$2')})`;
  const [found] = await db.query({ name: 'events.get', text, values: [id, visibleTo ?? null] });
  return found && rowWithPayload.parse(found);
}

export interface LogPage {
  rows: LogRow[];
  /** The next page has the events before this id; undefined if there are none. */
  next: string | undefined;
}

export async function pageOfLog(db: Executor, query: LogQuery): Promise<LogPage> {
  const { limit, from, lookedAt = LOOKED_AT, only = {}, visibleTo } = query;
  const isLimited = visibleTo !== undefined || Object.keys(only).length > 0;
  const [end] = isLimited ? await db.query(endStatement(query, lookedAt)) : [];
  const last = end && String(end.id);
  const found = z.array(row).parse(await db.query(logStatement({ ...query, from: last ?? from })));
  const rows = found.slice(0, limit);
  return { rows, next: found.length > limit ? rows.at(-1)?.id : last };
}

/** The last event that a page looks at, if there are that many. */
export function endStatement({ before, from, resourceId }: LogQuery, lookedAt: number): Statement {
  const { condition, order, values } = rangeOf({ before, from, resourceId });
  return { text: `select id from events where ${condition} ${order} offset ${lookedAt - 1} limit 1`, values };
}

/** Unnamed, so that each is planned for its values. */
export function logStatement({ before, from, resourceId, limit, only = {}, visibleTo }: LogQuery): Statement {
  const { condition, order, values } = rangeOf({ before, from, resourceId });
  const conditions = [condition];
  for (const [name, column] of Object.entries(COLUMNS)) {
    const value = only[name];
    if (value !== undefined) conditions.push(`${column} = $${values.push(value)}`);
  }
  if (visibleTo !== undefined) conditions.push(visible(`$${values.push(visibleTo)}`));
  // The extra row only shows that there is more.
  const count = `$${values.push(limit + 1)}`;
  return { text: `select ${SHOWN} from events where ${conditions.join(' and ')} ${order} limit ${count}`, values };
}

/** Compares rows of (resource_id, id), as in page-statement.ts: one part of one index, in its order. */
function rangeOf({ before = LAST, from = FIRST, resourceId }: Pick<LogQuery, 'before' | 'from' | 'resourceId'>) {
  if (resourceId === undefined) {
    const values: unknown[] = [before, from];
    return { condition: 'id < $1 and id >= $2', order: 'order by id desc', values };
  }
  return {
    condition: '(resource_id, id) < ($1, $2) and (resource_id, id) >= ($1, $3)',
    order: 'order by resource_id desc, id desc',
    values: [resourceId, before, from] as unknown[],
  };
}
