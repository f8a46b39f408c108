/** Two accounts are kept apart by row level security, and by the conditions of statements alone. */
import { beforeAll, describe, expect, test } from 'vitest';
import { addAccount, describeOperations, switchPolicies } from './account-matrix.ts';
import { idsIn } from './ids.ts';
import { createWorld } from './world.ts';

const world = await createWorld();
const { api } = world;
const accounts = await addAccount(world);

/** Whether row level security stands behind the conditions of the statements. */
const WALLS = [
  { walls: 'with row level security', toggle: 'enable' },
  { walls: 'without it, by the conditions of statements alone', toggle: 'disable' },
] as const;

describe.each(WALLS)('$walls', ({ toggle }) => {
  beforeAll(() => switchPolicies(api, toggle));
  describeOperations(accounts);
});

test('metrics name no account and nothing that belongs to one', async () => {
  const { text } = await api.anonymous.get('/metrics');
  expect(text).toContain('ip_policies');
  expect(idsIn(text)).toEqual(new Set());
});
