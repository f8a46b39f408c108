/**
 * Every field of every kind: WALKS_SEED repeats a run's choices, WALKS_STEPS sets the number of steps for each kind.
 * `walks.deep.test.ts` walks further.
 */
import { describe, test } from 'vitest';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { modulesRows } from '../../dev/fixtures/story-rows.ts';
import { isDeep } from '../tier.ts';
import { startStack } from './stack.ts';
import { walkableKind, walkableModules } from './walkable.ts';
import { walk } from './walks.ts';

const SEED = Number(process.env.WALKS_SEED ?? Math.floor(Math.random() * 2 ** 30));
const STEPS = Number(process.env.WALKS_STEPS ?? (isDeep ? 60 : 6));

const stack = await startStack({ prefix: 'walks' });
const rows = [...kindRows, ...modulesRows].map((row, at) => ({ row, name: row.name, at }));

describe(`a walk through the specs (seed ${SEED})`, { timeout: isDeep ? 3_600_000 : 60_000 }, () => {
  test.concurrent.for(rows)('of $name', async ({ row, at }, { annotate }) => {
    const name = `${row.type.plural}-walk`;
    const walkable = await ('attached' in row
      ? walkableModules(stack, row, 1 + at, name)
      : walkableKind(stack, row, 1 + at, name));
    await annotate(JSON.stringify(await walk(stack, walkable, { name, steps: STEPS, seed: SEED + at })));
  });
});
