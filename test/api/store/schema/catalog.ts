/** The schema of a database as comparable text: tables, columns, constraints, indexes and everything else. */
import { z } from 'zod';

type Query = (text: string) => Promise<Record<string, unknown>[]>;

const PARTS = [
  // Includes sequences and views, if there ever are any.
  `select concat_ws(' ', 'relation', relname, relkind, relpersistence, reloptions::text) as line
     from pg_class where relnamespace = 'public'::regnamespace`,
  `select concat_ws(' ', 'column', attrelid::regclass, attnum, attname, format_type(atttypid, atttypmod),
                    nullif(attcollation, 0)::regcollation, case when attnotnull then 'not null' end,
                    nullif(attidentity, ''), nullif(attgenerated, ''), pg_get_expr(adbin, adrelid)) as line
     from pg_attribute join pg_class c on c.oid = attrelid
     left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped and relkind <> 'i'`,
  `select concat_ws(' ', 'constraint', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid)) as line
     from pg_constraint where connamespace = 'public'::regnamespace`,
  `select concat_ws(' ', 'index', pg_get_indexdef(indexrelid), indisvalid) as line
     from pg_index join pg_class c on c.oid = indexrelid where relnamespace = 'public'::regnamespace`,
  `select concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid)) as line
     from pg_trigger t join pg_class c on c.oid = tgrelid
    where relnamespace = 'public'::regnamespace and not tgisinternal`,
  `select concat_ws(' ', 'function', pg_get_functiondef(oid)) as line
     from pg_proc where pronamespace = 'public'::regnamespace and prokind <> 'a'`,
  `select concat_ws(' ', 'type', typname, typtype) as line
     from pg_type where typnamespace = 'public'::regnamespace`,
];

const line = z.object({ line: z.string() });

/** One line for each object, sorted. */
export async function catalogOf(query: Query): Promise<string[]> {
  const found = await query(`${PARTS.join(' union all ')} order by 1`);
  return found.map((row) => line.parse(row).line);
}
