import { z } from 'zod';
import type { Executor } from './database.ts';

const row = z.object({ now: z.number() });

/**
 * Milliseconds since 1970, by the clock that all processes have in common: what is deleted for its age is gone for all
 * of them, and the clock of one may be wrong.
 */
export async function databaseTime(db: Executor): Promise<number> {
  const text = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now';
  const [found] = await db.query({ text, values: [] });
  return row.parse(found).now;
}
