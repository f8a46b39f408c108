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
  /** Only rows of this account: of a whole list, by its index. Undefined for what belongs to no account. */
  account?: string | undefined;
  /** Maximum size of all rows together, as stored. The first row is returned however large it is. Default: no limit. */
  maxBytes?: number;
  /** Only rows with these values in these columns, which have an index with the id after them. */
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

/** What is indexed of a long text. Compared by byte, whatever the collation of the database. */
export const indexedText = (column: string) => `left(${column}, ${MAX_PREFIX}) collate "C"`;

/** Has the texts of a list, each with the id of its row (`value`, `id`). */
export const elementTable = (table: string, column: string) => `${table}_${column}`;

/** A column of the order of the page, and between which values it is. */
interface Key {
  by: string;
  from: string;
  before: string;
}

/**
 * Compares rows of (scope, id). With `scope = $2 order by id`, Postgres may walk all ids, newest first, until enough of
 * them are in the scope: for an owner with few rows, that is the whole table.
 */
export function pageStatement(
  { table, fields }: Pick<Resource, 'table' | 'fields'>,
  shown: readonly string[],
  { before = LAST, from = FIRST, limit, account, only = {}, element, prefix }: PageQuery,
): Statement {
  const columns = shown.map((column) => `t.${column}`).join(', ');
  // The extra row only shows that there is more.
  const values = [limit + 1];
  const isWhole = Object.keys(only).length === 0 && !element && !prefix;
  const inside = isWhole ? account : undefined;
  const filtered = isWhole ? undefined : account;
  const name = [
    `${table}.page`,
    inside && 'account',
    ...Object.keys(only),
    element?.column,
    prefix && `${prefix.column}_prefix`,
  ];
  const statement = (text: string, more: readonly string[]): Statement => ({
    name: [...name, from === FIRST ? undefined : 'from'].filter(Boolean).join('_'),
    text: `select ${columns} from ${table} t ${text} limit $1`,
    values: [...values, ...more, ...(filtered === undefined ? [] : [filtered])],
  });

  /** @param at the number of the last parameter, which is the account */
  const isInside = (at: number) => (filtered === undefined ? '' : `and ${isSameAccount('t.account_id', `$${at}`)}`);

  const [one] = Object.entries(only);
  if (one && isUnique(fields, one[0]))
    return statement(`where t.${one[0]} = $2 and t.id >= $3 and t.id < $4 ${isInside(5)}`, [one[1], from, before]);

  const keys: Key[] = [
    ...(inside === undefined ? [] : [{ by: 't.account_id', from: inside, before: inside }]),
    ...Object.entries(only).map(([column, value]) => ({ by: `t.${column}`, from: value, before: value })),
    ...(element ? [{ by: 'e.value', from: element.value, before: element.value }] : []),
    ...(prefix ? [keyOf(prefix)] : []),
    { by: element ? 'e.id' : 't.id', from, before: prefix && prefix.before === undefined ? FIRST : before },
  ];
  const row = (expressions: readonly string[]) => `(${expressions.join(', ')})`;
  const by = row(keys.map((key) => key.by));
  const parameters = (first: number) => row(keys.map((_, index) => `$${first + index}`));
  const bounded = keys.length > 1 || from !== FIRST;
  const text = [
    element ? `join ${elementTable(table, element.column)} e on e.id = t.id` : '',
    `where ${by} < ${parameters(2)}`,
    bounded ? `and ${by} >= ${parameters(2 + keys.length)}` : '',
    isInside(2 + (bounded ? 2 : 1) * keys.length),
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
  by: indexedText(`t.${column}`),
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
