/** The query of a list: where a page starts and how long it is, and which resources the list has. */
import { z } from 'zod';
import { type Filter, indexedPart, MAX_PREFIX, parameterOf } from '../../resources/definition/filter.ts';
import { firstIdAt, idOf } from '../../resources/definition/id.ts';
import { emptyIsAbsent } from '../../resources/definition/none.ts';
import type { Resource } from '../../resources/definition/resource.ts';
import { instant, text } from '../../resources/formats/text.ts';
import { words } from '../errors/naming.ts';
import type { PageQuery } from '../store/page-statement.ts';

export const MAX_LIMIT = 100;

const LIMIT_RULE = `must be a number from 1 to ${MAX_LIMIT}`;

const limit = z
  .string()
  .regex(/^[1-9]\d{0,2}$/, LIMIT_RULE)
  .transform(Number)
  .refine((value) => value <= MAX_LIMIT, LIMIT_RULE);

/** A family as its list needs it. */
interface Listed {
  readonly resource: Pick<Resource, 'table' | 'prefix' | 'access'>;
  readonly filters: readonly Filter[];
  /** Whether filters can be given together, although no index serves all of them. */
  readonly combines?: boolean;
}

/** A checked query. Filters are under their names as parameters. */
export interface ListQuery {
  readonly limit?: number | undefined;
  readonly before_id?: string | undefined;
  readonly created_after?: string | undefined;
  readonly created_before?: string | undefined;
  readonly [parameter: string]: string | number | undefined;
}

const BEFORE = 'Start the page after the resource with this id, which may have been deleted.';

const TIMES = ['created_after', 'created_before'] as const;

/** Where a page of texts with a prefix starts, besides `before_id`. */
const cursorOf = ({ field }: Filter) => `before_${field}`;

/** Query parameters of a list. */
export function listQuery({ resource, filters, combines = false }: Listed): z.ZodType<ListQuery> {
  const many = words(resource.table);
  const parameters: Record<string, z.ZodType> = {
    limit: emptyIsAbsent(limit).meta({ description: 'Maximum number of items on the page.' }),
    before_id: emptyIsAbsent(idOf(resource.prefix)).meta({ description: BEFORE }),
    created_after: emptyIsAbsent(instant()).meta({ description: `Only ${many} created after this time.` }),
    created_before: emptyIsAbsent(instant()).meta({ description: `Only ${many} created before this time.` }),
  };
  for (const filter of filters) {
    // An empty filter is not absent: a script whose variable is empty would act on all resources.
    parameters[parameterOf(filter.name)] = filter.schema.optional().meta({ description: aboutFilter(filter, many) });
    if (filter.by !== 'prefix') continue;
    const description = `With \`${parameterOf(filter.name)}\`: where the page starts, as in \`next_page_uri\`.`;
    parameters[cursorOf(filter)] = emptyIsAbsent(cursor).meta({ description });
  }
  const schema = z.strictObject(parameters).superRefine((query, context) => {
    const refuse = (parameter: string, message: string) =>
      context.addIssue({ code: 'custom', path: [parameter], message, input: query[parameter] });
    const given = filters.filter(({ name }) => query[parameterOf(name)] !== undefined);
    const [first, ...others] = given.filter((each) => !combines && !isScope(resource, each));
    for (const { name } of others)
      refuse(parameterOf(name), `cannot be combined with ${parameterOf(first?.name ?? '')}`);
    for (const filter of filters) if (filter.by === 'prefix') checkPrefix(filter, query, refuse);
  });
  // Built from a record, which loses the types of its members.
  return schema as unknown as z.ZodType<ListQuery>;
}

const cursor = text().max(MAX_PREFIX * 2, `must be at most ${MAX_PREFIX} characters`);

/** The owner is part of every index of the family, so that another filter can be given as well. */
const isScope = ({ access }: Listed['resource'], { field }: Filter) => access === 'owner' && field === 'owner_id';

function checkPrefix(
  filter: Filter,
  query: Readonly<Record<string, unknown>>,
  refuse: (parameter: string, message: string) => void,
): void {
  const parameter = parameterOf(filter.name);
  const start = cursorOf(filter);
  const { [parameter]: prefix, [start]: before, before_id: id } = query;
  if (prefix === undefined) {
    if (before !== undefined) refuse(start, `requires ${parameter}`);
    return;
  }
  for (const time of TIMES) if (query[time] !== undefined) refuse(time, `cannot be combined with ${parameter}`);
  if (id !== undefined && before === undefined) refuse(start, `is required with before_id and ${parameter}`);
  if (before === undefined) return;
  if (id === undefined) refuse('before_id', `is required with ${start}`);
  if (!String(before).startsWith(String(prefix))) refuse(start, `must begin with ${parameter}`);
}

function aboutFilter({ by, field }: Filter, many: string): string {
  if (by === 'value') return `Only ${many} with this \`${field}\`.`;
  if (by === 'element') return `Only ${many} with this among their \`${field}\`.`;
  return (
    `Only ${many} whose \`${field}\` begins with this. The list is then in order of the first ${MAX_PREFIX} characters of ` +
    `\`${field}\`, last first. Cannot be combined with \`created_after\` and \`created_before\`.`
  );
}

/** Between which ids the page is, and how long. */
export function rangeOf({ prefix }: Pick<Resource, 'prefix'>, query: ListQuery) {
  const { limit = MAX_LIMIT, before_id, created_after: after, created_before: before } = query;
  return {
    limit,
    before: earliest(before_id, before && firstIdAt(prefix, new Date(before))),
    from: after && firstIdAt(prefix, new Date(Date.parse(after) + 1)),
  };
}

/** The values of filters that a query has, by the names of the filters. */
export function filterValues({ filters }: Pick<Listed, 'filters'>, query: ListQuery): Record<string, string> {
  const given = filters.map(({ name }) => [name, asText(query[parameterOf(name)])] as const);
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** The page to read; undefined if nothing can be on it, since the caller may not see what the filter asks for. */
export function pageQuery(
  { resource, filters }: Listed,
  query: ListQuery,
  scope: Readonly<Record<string, string>>,
): PageQuery | undefined {
  const only: Record<string, string> = { ...scope };
  const page: PageQuery = { ...rangeOf(resource, query), only };
  for (const filter of filters) {
    const { name, field: column, by } = filter;
    const value = query[parameterOf(name)];
    if (typeof value !== 'string') continue;
    if (by === 'value' && (only[column] ?? value) !== value) return undefined;
    if (by === 'value') only[column] = value;
    else if (by === 'element') page.element = { column, value };
    else page.prefix = { column, value, before: asText(query[cursorOf(filter)]) };
  }
  return page;
}

const asText = (value: string | number | undefined) => (typeof value === 'string' ? value : undefined);

function earliest(one: string | undefined, other: string | undefined): string | undefined {
  return one !== undefined && other !== undefined && other < one ? other : (one ?? other);
}

/** The query of the page after this row. */
export function nextQuery(
  { filters }: Listed,
  { limit = MAX_LIMIT, ...query }: ListQuery,
  last: Readonly<{ id: string; [column: string]: unknown }>,
): string {
  const next = new URLSearchParams();
  for (const time of TIMES) if (query[time] !== undefined) next.append(time, query[time]);
  for (const filter of filters) {
    const value = asText(query[parameterOf(filter.name)]);
    if (value === undefined) continue;
    next.append(parameterOf(filter.name), value);
    if (filter.by === 'prefix') next.append(cursorOf(filter), indexedPart(String(last[filter.field])));
  }
  next.append('before_id', last.id);
  next.append('limit', String(limit));
  return next.toString();
}
