/** Everything in the database as text, to look for what must not be there. */
import type { TestApi } from './harness.ts';

/** The rows of each table, by its name. */
export async function dumpOf({ rows }: Pick<TestApi, 'rows'>): Promise<Map<string, string>> {
  const dump = new Map<string, string>();
  for (const { tablename } of await rows("select tablename from pg_tables where schemaname = 'public'")) {
    const lines = await rows(`select t::text as line from "${tablename}" t`);
    dump.set(String(tablename), lines.map(({ line }) => String(line)).join('\n'));
  }
  return dump;
}
