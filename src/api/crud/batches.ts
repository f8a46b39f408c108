/** Changes many rows in batches, so that no single statement takes long. */
import type { Executor } from '../store/database.ts';

/** Rows per statement: few enough that it neither times out nor blocks others for long. */
export const BATCH = 1000;

/** Repeats a statement, which must return the rows that it changed, until it changes fewer than `BATCH`. */
export async function inBatches(db: Executor, text: string, values: unknown[]): Promise<void> {
  while ((await db.query({ text, values })).length === BATCH);
}
