/** WALKS_STEPS says how many steps of each kind, WALKS_SEED repeats a run's choices. */
import { describe, expect, test } from 'vitest';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { startStack } from './stack.ts';
import { walk } from './walks.ts';

const SEED = Number(process.env.WALKS_SEED ?? Math.floor(Math.random() * 2 ** 30));
const STEPS = Number(process.env.WALKS_STEPS ?? 60);

const stack = await startStack({ prefix: 'walks' });

describe(`a long walk through the specs (seed ${SEED})`, { timeout: 3_600_000 }, () => {
  test.for(kindRows.map((row, at) => ({ row, name: row.name, at })))('of $name', async ({ row, at }, { annotate }) => {
    const counts = await walk(stack, { row, number: at, steps: STEPS, seed: SEED + at });
    await annotate(JSON.stringify(counts));
    expect(counts.ready).toBeGreaterThan(1);
  });
});
