/** Which tables and columns have no row in a recording, or none with null where there may be. */
import type pg from 'pg';
import { z } from 'zod';
import { columnsOf, type Rows } from './recorded-rows.ts';

export interface Lacking {
  readonly table: string;
  /** As in a sentence: `a value of region`, `a null of region`. */
  readonly what: string;
}

const NULLABLE = `
  select table_name as table, column_name as column from information_schema.columns
   where table_schema = 'public' and is_nullable = 'YES' and is_generated = 'NEVER'`;

const nullableColumns = z.array(z.object({ table: z.string(), column: z.string() }));

/** @param client of a database with the newest schema */
export async function lackingIn(client: pg.Client, rows: Rows): Promise<Lacking[]> {
  const nullable = nullableColumns.parse((await client.query(NULLABLE)).rows);
  return [...(await columnsOf(client))].flatMap(([table, columns]) => {
    const values = (column: string) => rows[table]?.map((row) => row[column] ?? null) ?? [];
    const mayBeNull = nullable.filter((each) => each.table === table).map(({ column }) => column);
    return [
      ...columns
        .filter((column) => values(column).every((value) => value === null))
        .map((column) => `a value of ${column}`),
      ...mayBeNull.filter((column) => !values(column).includes(null)).map((column) => `a null of ${column}`),
    ].map((what) => ({ table, what }));
  });
}
