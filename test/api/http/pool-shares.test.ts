import { expect, test } from 'vitest';
import { createPoolShares, type PoolShares } from '../../../src/api/http/pool-shares.ts';

const settled = () => new Promise((turn) => setImmediate(turn));

/** How many of one name get a turn while nobody ends theirs. */
async function atOnce(poolSize: number, share: keyof PoolShares): Promise<number> {
  const turns = createPoolShares({ poolSize })[share];
  let taken = 0;
  for (let n = 0; n < 50; n++) void turns.take('a').then(() => taken++);
  await settled();
  return taken;
}

test.each([
  [20, { keys: 10, owners: 15, lookups: 4, spent: 1, strangers: 8 }],
  [10, { keys: 5, owners: 7, lookups: 2, spent: 1, strangers: 4 }],
  [4, { keys: 2, owners: 3, lookups: 1, spent: 1, strangers: 1 }],
  [1, { keys: 1, owners: 1, lookups: 1, spent: 1, strangers: 1 }],
])('of %i connections, one caller uses only part, and always one', async (poolSize, expected) => {
  const shares = ['keys', 'owners', 'lookups', 'spent', 'strangers'] as const;
  const found = await Promise.all(shares.map(async (share) => [share, await atOnce(poolSize, share)]));
  expect(Object.fromEntries(found)).toEqual(expected);
});
