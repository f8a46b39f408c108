/** Generates thousands of rows in the database itself, for effects that only many rows show. */
import { z } from 'zod';

type Query = (text: string) => Promise<{ rows: unknown[] }>;

/** The id of row number `n`: a TypeID that sorts by `n`. */
export const idOfRow = (prefix: string, n: number) => `${prefix}_${FIRST}${String(n).padStart(DIGITS, '0')}`;
const FIRST = '01k9zq';
const DIGITS = 20;

const column = z.object({ name: z.string(), type: z.string(), needed: z.boolean(), unique: z.boolean() });

const COLUMNS = (table: string) => `
  select a.attname as name, format_type(a.atttypid, null) as type, a.attnotnull and not a.atthasdef as needed,
         exists (select from pg_index i where i.indrelid = a.attrelid and i.indisunique and a.attnum = any(i.indkey)) as unique
    from pg_attribute a
   where a.attrelid = '${table}'::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''`;

/** Expressions for a value of each type; \`n` is the number of the row. */
const OF_TYPE: Readonly<Record<string, string>> = {
  text: "'x'",
  'text[]': "'{}'",
  jsonb: "'{}'",
  bytea: "'\\x00'",
  boolean: 'true',
  integer: '1',
  bigint: '1',
  'timestamp with time zone': 'now()',
};
const UNIQUE: Readonly<Record<string, string>> = {
  text: 'n::text',
  bytea: "decode(lpad(to_hex(n), 64, '0'), 'hex')",
  bigint: 'n',
};

/**
 * Adds rows 1 to `count` to the table of a family. Columns that require a value get one of their type, unless `values`
 * has an expression for them. References are not checked; this needs a superuser's session.
 */
export async function fillTable(
  query: Query,
  { table, prefix }: { table: string; prefix: string },
  count: number,
  values: Readonly<Record<string, string>> = {},
): Promise<void> {
  const columns = z.array(column).parse((await query(COLUMNS(table))).rows);
  const written = columns.flatMap(({ name, type, needed, unique }) => {
    const id = name === 'id' ? `'${prefix}_${FIRST}' || lpad(n::text, ${DIGITS}, '0')` : undefined;
    const made = unique ? UNIQUE[type] : needed ? OF_TYPE[type] : undefined;
    const value = values[name] ?? id ?? made;
    if (needed && value === undefined) throw new Error(`no value of type ${type} for ${table}.${name}`);
    return value === undefined ? [] : [{ name, value }];
  });
  const names = written.map(({ name }) => name).join(', ');
  const expressions = written.map(({ value }) => value).join(', ');
  await query('set session_replication_role = replica');
  await query(`insert into ${table} (${names}) select ${expressions} from generate_series(1, ${count}) n`);
  await query('set session_replication_role = origin');
  await query(`analyze ${table}`);
}
