/** The statement that reads one page of a list: newest first, from one index, no further than the page. */
import { MAX_PREFIX } from '../../resources/definition/filter.ts';
import type { Fields, Resource } from '../../resources/definition/resource.ts';
import { isSameAccount } from './account-scope.ts';
import type { Statement } from './statement.ts';

export interface PageQuery {
  /** Only rows with a smaller id: what comes after it in the list. */
  before?: string | undefined;
  /** Only rows with this id or a larger one. */
  from?: string | undefined;
  limit: number;
  /** Only rows of this account. Undefined for what belongs to no account. */
  account?: string | undefined;
  /** Maximum size of all rows together, as stored. The first row is returned however large it is. Default: no limit. */
  maxBytes?: number;
  /** Only rows with these values in these columns, which have an index with the account before and the id after them. */
  only?: Readonly<Record<string, string>>;
  /** Only rows that have this text in a list (`filterable: 'element'`). */
  element?: { column: string; value: string } | undefined;
  /**
   * Only rows whose text begins with this (`filterable: 'prefix'`), in order of the text: no index has all texts with one
   * beginning in order of id. `before`: what is indexed of the text of the row with the id `before`.
   */
  prefix?: { column: string; value: string; before?: string | undefined } | undefined;
}

/** Sorts before every id. */
export const FIRST = '';
/** Sorts after every id. */
export const LAST = '~';

/**
 * Has the first MAX_PREFIX characters of a long text, which are indexed. A column, since row level security keeps conditions
 * on `left(…)` from the index of such an expression: the function might show rows of other accounts.
 */
export const startColumn = (column: string) => `${column}_start`;

/** Has the texts of a list, each with the account and the id of its row (`account_id`, `value`, `id`). */
export const elementTable = (table: string, column: string) => `${table}_${column}`;

/** A column of the order of the page, and between which values it is. */
interface Key {
  by: string;
  from: string;
  before: string;
}

/**
 * Compares rows of (account, scope, id). With `scope = $2 order by id`, Postgres may walk all ids, newest first, until enough of
 * them are in the scope: for an owner with few rows, that is the whole table. The account comes first, so that no page is read
 * past rows of others: how long it takes would tell how many they have.
 */
export function pageStatement(
  { table, fields }: Pick<Resource, 'table' | 'fields'>,
  shown: readonly string[],
  { before = LAST, from = FIRST, limit, account, only = {}, element, prefix }: PageQuery,
): Statement {
  const columns = shown.map((column) => `t.${column}`).join(', ');
  const name = [
    `${table}.page`,
    account && 'account',
    ...Object.keys(only),
    element?.column,
    prefix && `${prefix.column}_prefix`,
    from !== FIRST && 'from',
  ];
  const statement = (text: string, values: readonly string[]): Statement => ({
    name: name.filter(Boolean).join('_'),
    text: `select ${columns} from ${table} t ${text} limit $1`,
    // The extra row only shows that there is more.
    values: [limit + 1, ...values],
  });

  const [one] = Object.entries(only);
  if (one && isUnique(fields, one[0])) {
    // One row at most, whosever it is.
    const inside = account === undefined ? '' : `and ${isSameAccount('t.account_id', '$5')}`;
    const values = [one[1], from, before, ...(account === undefined ? [] : [account])];
    return statement(`where t.${one[0]} = $2 and t.id >= $3 and t.id < $4 ${inside}`, values);
  }

  const indexed = element ? 'e' : 't';
  const keys: Key[] = [
    ...(account === undefined ? [] : [{ by: `${indexed}.account_id`, from: account, before: account }]),
    ...Object.entries(only).map(([column, value]) => ({ by: `t.${column}`, from: value, before: value })),
    ...(element ? [{ by: 'e.value', from: element.value, before: element.value }] : []),
    ...(prefix ? [keyOf(prefix)] : []),
    { by: `${indexed}.id`, from, before: prefix && prefix.before === undefined ? FIRST : before },
  ];
  const row = (expressions: readonly string[]) => `(${expressions.join(', ')})`;
  const by = row(keys.map((key) => key.by));
  const parameters = (first: number) => row(keys.map((_, index) => `$${first + index}`));
  const bounded = keys.length > 1 || from !== FIRST;
  const text = [
    element ? `join ${elementTable(table, element.column)} e on e.id = t.id` : '',
    `where ${by} < ${parameters(2)}`,
    bounded ? `and ${by} >= ${parameters(2 + keys.length)}` : '',
    // As in the index, which does not have the rows without a text.
    prefix ? `and t.${prefix.column} is not null` : '',
    `order by ${keys.map((key) => `${key.by} desc`).join(', ')}`,
  ].filter(Boolean);
  return statement(text.join('\n'), [
    ...keys.map((key) => key.before),
    ...(bounded ? keys.map((key) => key.from) : []),
  ]);
}

const isUnique = (fields: Fields, column: string) => fields[column]?.unique === true;

const keyOf = ({ column, value, before }: NonNullable<PageQuery['prefix']>): Key => ({
  by: `t.${startColumn(column)}`,
  from: value,
  before: before ?? afterPrefix(value),
});

const LARGEST = 0x10ffff;

/** The smallest text after all that begin with the prefix. UTF-8 sorts by code point. */
export function afterPrefix(prefix: string): string {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0);
  const last = points.findLastIndex((point) => point < LARGEST);
  if (last === -1) return String.fromCodePoint(LARGEST).repeat(MAX_PREFIX + 1);
  const next = (points[last] ?? 0) + 1;
  // The surrogates are not characters.
  const above = next >= 0xd800 && next <= 0xdfff ? 0xe000 : next;
  return String.fromCodePoint(...points.slice(0, last), above);
}
