/** Every field of every kind: WALKS_SEED repeats a run's choices. `walks.deep.test.ts` walks further. */
import { describe, test } from 'vitest';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { startStack } from './stack.ts';
import { walk } from './walks.ts';

const SEED = Number(process.env.WALKS_SEED ?? Math.floor(Math.random() * 2 ** 30));

const stack = await startStack({ prefix: 'walks' });
const walked = kindRows.map((row, at) => ({ row, name: row.name, at }));

describe(`a walk through the specs (seed ${SEED})`, () => {
  test.concurrent.for(walked)('of $name', async ({ row, at }, { annotate }) => {
    await annotate(JSON.stringify(await walk(stack, { row, number: at, steps: 6, seed: SEED + at })));
  });
});
