/** Two accounts are kept apart by row level security alone: the statements lack their conditions. */
import { describe, expect, test } from 'vitest';
import { ipPolicy } from '../../src/resources/ip-policy.ts';
import type { Reply } from '../api/harness.ts';
import { addAccount, describeOperations, switchPolicies } from './account-matrix.ts';
import { withoutConditions } from './without-conditions.ts';
import { createWorld } from './world.ts';

const world = await createWorld({ through: withoutConditions });
const { api } = world;
const accounts = await addAccount(world);

const shows = ({ status, text }: Reply, id: string) => status === 200 && text.includes(id);

describe('by row level security alone', () => {
  describeOperations(accounts);
});

test('without row level security as well, nothing keeps them apart', async () => {
  const { id } = (await api.admin.post('/ip_policies', {})).as(ipPolicy.view);
  const paths = [`/ip_policies/${id}`, '/ip_policies?limit=1', '/events?limit=1'];
  const seen = () => Promise.all(paths.map(async (path) => shows(await accounts.other.admin.get(path), id)));
  expect(await seen()).toEqual([false, false, false]);
  await switchPolicies(api, 'disable');
  expect(await seen()).toEqual([true, true, true]);
});
