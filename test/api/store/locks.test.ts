/** Locks and their numbers, which must never change: servers of two releases run side by side in an upgrade. */
import { expect, test } from 'vitest';
import {
  COVERING_LOCKS,
  HOSTPORT_LOCKS,
  LOCKS,
  lockUntilCommit,
  tryLockUntilCommit,
} from '../../../src/api/store/locks.ts';
import { openTestDatabase, untilWaiting } from '../harness.ts';

test('locks have the same numbers in every release', () => {
  expect([LOCKS, HOSTPORT_LOCKS, COVERING_LOCKS]).toEqual([
    {
      migration: 7211004326,
      users: 7211004327,
      bootstrap: 7211004328,
      eventRetention: 7211004329,
      eventFanOut: 7211004330,
    },
    1211004328,
    1211004329,
  ]);
});

test('a transaction waits for a lock until the transaction that holds it ends', async () => {
  const db = await openTestDatabase();
  const order: string[] = [];
  let second: Promise<void> | undefined;
  await db.transaction(async (first) => {
    await lockUntilCommit(first, LOCKS.users);
    second = db.transaction(async (tx) => {
      await lockUntilCommit(tx, LOCKS.users);
      order.push('second');
    });
    await untilWaiting({ rows: (text, values = []) => db.query({ text, values }) }, 1);
    order.push('first');
  });
  await second;
  expect(order).toEqual(['first', 'second']);
});

test('tryLockUntilCommit() does not wait for a lock that another transaction holds', async () => {
  const db = await openTestDatabase();
  await db.transaction(async (first) => {
    expect(await tryLockUntilCommit(first, LOCKS.eventRetention)).toBe(true);
    expect(await db.transaction((tx) => tryLockUntilCommit(tx, LOCKS.eventRetention))).toBe(false);
  });
  expect(await db.transaction((tx) => tryLockUntilCommit(tx, LOCKS.eventRetention))).toBe(true);
});
