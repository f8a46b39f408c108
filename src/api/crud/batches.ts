/** Work on many rows, of which nobody waits for all: each statement takes few, however many there are. */
import type { Executor } from '../store/database.ts';

/** How many rows a statement changes: few enough that it is over in time, and nobody waits for it. */
export const BATCH = 1000;

/** Repeats a statement that returns a row for each that it has changed, at most `BATCH`, until it finds less. */
export async function inBatches(db: Executor, text: string, values: unknown[]): Promise<void> {
  while ((await db.query({ text, values })).length === BATCH);
}
