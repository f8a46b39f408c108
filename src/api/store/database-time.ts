/** The clock of the database, which all processes have in common. */
import { z } from 'zod';
import type { Executor } from './database.ts';

const row = z.object({ now: z.number() });

/**
 * Milliseconds since 1970. For deletions by age: they affect all processes, and the clock of one process may be wrong.
 */
export async function databaseTime(db: Executor): Promise<number> {
  const text = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now';
  const [found] = await db.query({ text, values: [] });
  return row.parse(found).now;
}
