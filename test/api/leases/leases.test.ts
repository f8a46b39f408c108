import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLeaseHolder } from '../../../src/api/leases/lease-holder.ts';
import { claimLeases, heldBy, releaseLeases, renewLeases } from '../../../src/api/leases/leases.ts';
import { startTestApi } from '../harness.ts';

const { db } = await startTestApi();
const HOUR_MS = 3_600_000;
const claim = async (name: string, ms = HOUR_MS) => (await claimLeases(db, [name], { holder: 'test', ms }))[0];
const claimed = async (name: string, ms?: number) => (await claim(name, ms)) ?? expect.unreachable(name);

test('one process at a time holds a lease, and another one once it has ended', async () => {
  const first = await claimed('job/ended', 1);
  await expect.poll(() => claim('job/ended')).toEqual({ name: 'job/ended', fence: first.fence + 1 });
  expect(await claim('job/ended')).toBeUndefined();
  expect(await renewLeases(db, [first], HOUR_MS)).toEqual([]);
});

test('a write under a lease takes no effect once the lease is released', async () => {
  const lease = await claimed('job/written');
  const isHeld = async () => (await db.query({ text: heldBy(1), values: [lease.name, lease.fence] })).length === 1;
  expect(await isHeld()).toBe(true);
  await releaseLeases(db, [lease]);
  expect(await isHeld()).toBe(false);
});

// An idle worker releases its lease, often while the holder renews all of them: nobody worked until it ended by itself.
test('a renewal that arrives after the release does not keep others from claiming', async () => {
  const lease = await claimed('job/renewed');
  await releaseLeases(db, [lease]);
  expect(await renewLeases(db, [lease], HOUR_MS)).toEqual([]);
  expect(await claim('job/renewed')).toBeDefined();
});

test('a lease is renewed for as long as it is held, and lost when another process has claimed it', async () => {
  const holder = createLeaseHolder(db, { holder: 'test', ms: 300 });
  const [held] = await holder.claim(['job/kept']);
  await delay(600);
  expect(await claim('job/kept')).toBeUndefined();
  expect(held?.lost.aborted).toBe(false);
  await db.query({ text: "update leases set fence = fence + 1 where name = 'job/kept'", values: [] });
  await expect.poll(() => held?.lost.aborted).toBe(true);
  await holder.stop();
});
