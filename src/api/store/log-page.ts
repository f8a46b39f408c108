/**
 * Pages of a log, newest first. An index for each filter would slow down every write of the API, so a log has few of them.
 * Any other condition is tried on a limited number of rows at a time: a page may be short, or even empty, and then says
 * where the next one starts.
 */
import { z } from 'zod';
import type { Executor } from './database.ts';
import { FIRST, LAST } from './page-statement.ts';
import type { Statement } from './statement.ts';

/** Rows that one page looks at: a fraction of a second, even if all are read from disk. */
export const LOOKED_AT = 20_000;

export interface Log<R extends z.ZodType<{ id: string }>> {
  table: string;
  /** What is selected. */
  shown: string;
  row: R;
}

export interface Condition {
  /** Whether a row fulfils it. @param parameter has the value */
  holds(parameter: string): string;
  value: string;
}

export interface LogRange {
  /** Only rows with a smaller id. */
  before?: string | undefined;
  /** Only rows with this id or a larger one. */
  from?: string | undefined;
  /** Only rows of this account. */
  account: string;
  /** Only rows with this value in this column, which has an index with the account and the id after it. */
  within?: { column: string; value: string } | undefined;
}

export interface LogPageQuery extends LogRange {
  limit: number;
  conditions: readonly Condition[];
  lookedAt?: number | undefined;
}

export interface LogPage<Row> {
  rows: Row[];
  /** The next page has the rows before this id; undefined if there are none. */
  next: string | undefined;
}

export async function readLogPage<R extends z.ZodType<{ id: string }>>(
  db: Executor,
  log: Log<R>,
  query: LogPageQuery,
): Promise<LogPage<z.output<R>>> {
  const { limit, from, lookedAt = LOOKED_AT, conditions } = query;
  const [end] = conditions.length > 0 ? await db.query(endStatement(log, query, lookedAt)) : [];
  const last = end && String(end.id);
  const found = z.array(log.row).parse(await db.query(logStatement(log, { ...query, from: last ?? from })));
  const rows = found.slice(0, limit);
  return { rows, next: found.length > limit ? rows.at(-1)?.id : last };
}

type Table = Pick<Log<never>, 'table'>;

/** The last row that a page looks at, if there are that many. */
export function endStatement({ table }: Table, range: LogRange, lookedAt: number): Statement {
  const { condition, order, values } = rangeOf(range);
  return { text: `select id from ${table} where ${condition} ${order} offset ${lookedAt - 1} limit 1`, values };
}

/** Unnamed, so that each is planned for its values. */
export function logStatement({ table, shown }: Table & { shown: string }, query: LogPageQuery): Statement {
  const { condition, order, values } = rangeOf(query);
  const all = [condition, ...query.conditions.map(({ holds, value }) => holds(`$${values.push(value)}`))];
  // The extra row only shows that there is more.
  const count = `$${values.push(query.limit + 1)}`;
  return { text: `select ${shown} from ${table} where ${all.join(' and ')} ${order} limit ${count}`, values };
}

/**
 * Compares rows of (column, account, id), as in page-statement.ts: one part of one index, in its order. Without the account, a
 * request that asks for a resource of another account would be read through all that the other has of it. The column comes
 * first, since background jobs look for its values in all accounts.
 */
function rangeOf({ before = LAST, from = FIRST, account, within }: LogRange) {
  const scope = [...(within ? [within] : []), { column: 'account_id', value: account }];
  const columns = [...scope.map(({ column }) => column), 'id'];
  const values: unknown[] = [...scope.map(({ value }) => value), before, from];
  const end = (id: number) => `(${[...scope.map((_, index) => `$${index + 1}`), `$${id}`].join(', ')})`;
  return {
    condition: `(${columns.join(', ')}) < ${end(values.length - 1)} and (${columns.join(', ')}) >= ${end(values.length)}`,
    order: `order by ${columns.map((column) => `${column} desc`).join(', ')}`,
    values,
  };
}
