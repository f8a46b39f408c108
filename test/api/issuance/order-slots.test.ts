import { expect, test } from 'vitest';
import { readAccount } from '../../../src/api/issuance/account.ts';
import { reserveOrder } from '../../../src/api/issuance/order-slots.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { openDatabase } from '../../../src/api/store/database.ts';
import { atEnd } from '../../end-of-file.ts';
import { emptyDatabase } from '../harness.ts';

const url = await emptyDatabase();
const [one, other] = [open(), open()];
const secrets = createSecrets([{ id: 'a', bytes: Buffer.alloc(32, 1) }]);
const RATE = { burst: 5, intervalMs: 60_000 };
const START = new Date('2026-01-01T00:00:00Z');
const later = (minutes: number) => new Date(START.getTime() + minutes * 60_000);

function open() {
  const db = openDatabase({ url, poolSize: 4, statementTimeoutMs: 5_000, connectTimeoutMs: 5_000 });
  atEnd(() => db.close());
  return db;
}

test('processes that start together have one account', async () => {
  const accounts = await Promise.all([one, other, one, other].map((db) => readAccount(db, secrets, 'together')));
  expect(new Set(accounts.map(({ keyPem }) => keyPem)).size).toBe(1);
});

test('processes share the allowance of an account', async () => {
  await readAccount(one, secrets, 'a');
  const dbs = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? one : other));
  const at = await Promise.all(dbs.map((db) => reserveOrder(db, 'a', START, RATE)));
  const minutes = at.map((time) => (time.getTime() - START.getTime()) / 60_000).toSorted((a, b) => a - b);
  // Five at once, then one a minute.
  expect(minutes).toEqual([0, 0, 0, 0, 0, 1, 2, 3]);
});

test('a pause earns as many orders as were placed, and no more', async () => {
  await readAccount(one, secrets, 'b');
  for (let order = 0; order < 5; order += 1) await reserveOrder(one, 'b', START, RATE);
  expect(await reserveOrder(one, 'b', later(1), RATE)).toEqual(later(1));
  expect(await reserveOrder(one, 'b', later(1), RATE)).toEqual(later(2));
  const atOnce = [];
  for (let order = 0; order < 6; order += 1) atOnce.push(await reserveOrder(one, 'b', later(600), RATE));
  expect(atOnce).toEqual([later(600), later(600), later(600), later(600), later(600), later(601)]);
});
