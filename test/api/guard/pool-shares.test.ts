import { expect, test } from 'vitest';
import { createPoolShares, createSemaphores, type PoolShares } from '../../../src/api/guard/pool-shares.ts';

const settled = () => new Promise((turn) => setImmediate(turn));

/** How many requests of one name get a permit while none is released. */
async function atOnce(poolSize: number, share: keyof PoolShares): Promise<number> {
  const semaphores = createPoolShares({ poolSize })[share];
  let acquired = 0;
  for (let n = 0; n < 50; n++) void semaphores.acquire('a').then(() => acquired++);
  await settled();
  return acquired;
}

test.each([
  [20, { keys: 10, owners: 15, strangers: 8 }],
  [4, { keys: 2, owners: 3, strangers: 1 }],
  [1, { keys: 1, owners: 1, strangers: 1 }],
])('of %i connections, one caller may use only a part, but at least one', async (poolSize, expected) => {
  const shares = ['keys', 'owners', 'strangers'] as const;
  const found = await Promise.all(shares.map(async (share) => [share, await atOnce(poolSize, share)]));
  expect(Object.fromEntries(found)).toEqual(expected);
});

test('permits are acquired in order, up to a limit for each name', async () => {
  const semaphores = createSemaphores(2);
  const log: string[] = [];
  const releases = new Map<string, () => void>();
  const acquire = (name: string, who: string) =>
    void semaphores.acquire(name).then((release) => {
      log.push(who);
      releases.set(who, release);
    });
  for (const who of ['a1', 'a2', 'a3', 'a4']) acquire('a', who);
  acquire('b', 'b1');
  await settled();
  expect(log).toEqual(['a1', 'a2', 'b1']);
  releases.get('a2')?.();
  await settled();
  expect(log).toEqual(['a1', 'a2', 'b1', 'a3']);
  for (const who of ['a1', 'a3']) releases.get(who)?.();
  await settled();
  releases.get('a4')?.();
  for (const who of ['a5', 'a6', 'a7']) acquire('a', who);
  await settled();
  expect(log.slice(4)).toEqual(['a4', 'a5', 'a6']);
});

test('a queue of requests that release at once yields to the event loop', async () => {
  const semaphores = createSemaphores(1);
  const log: string[] = [];
  const release = await semaphores.acquire('a');
  for (const who of ['a1', 'a2'])
    void semaphores.acquire('a').then((releaseNext) => {
      log.push(who);
      releaseNext();
    });
  release();
  for (let n = 0; n < 2; n++) {
    await settled();
    log.push('others');
  }
  expect(log).toEqual(['a1', 'others', 'a2', 'others']);
});

test('a thousand requests wait, and more are refused', async () => {
  const semaphores = createSemaphores(1);
  const release = await semaphores.acquire('a');
  const waiting = Array.from({ length: 1000 }, () => semaphores.acquire('a'));
  await expect(semaphores.acquire('a')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await semaphores.acquire('b');
  release();
  for (const each of waiting) (await each)();
  await semaphores.acquire('a');
});
