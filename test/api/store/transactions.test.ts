/** Which transactions are retried, and which fail. */
import { expect, test, vi } from 'vitest';
import type { Executor } from '../../../src/api/store/database.ts';
import { openTestDatabase } from '../harness.ts';

const db = await openTestDatabase(2);
const run = (on: Executor, text: string) => on.query({ text, values: [] });

const failing = (code: string) => `do $$ begin raise exception 'as told' using errcode = '${code}'; end $$`;

test.each([
  ['conflicts once is retried', '40001', 1, 2],
  ['conflicts twice is retried twice', '40P01', 2, 3],
  ['keeps conflicting fails after three attempts', '40001', 9, 3],
  ['fails by itself is not retried', '22012', 9, 1],
])('a transaction that %s (%s)', async (_, code, failures, attempts) => {
  const work = vi.fn(async (tx: Executor) => {
    if (work.mock.calls.length <= failures) await run(tx, failing(code));
    return 'done';
  });
  const outcome = await db.transaction(work).catch((error: unknown) => error);
  if (failures < attempts) expect(outcome).toBe('done');
  else expect(outcome).toMatchObject({ code });
  expect(work).toHaveBeenCalledTimes(attempts);
});

test('a transaction in which a failure went unnoticed is rolled back', async () => {
  await run(db, 'create table noticed (n integer)');
  const careless = db.transaction(async (tx) => {
    await run(tx, 'insert into noticed values (1)');
    await run(tx, 'select 1 / 0').catch(() => undefined);
  });
  await expect(careless).rejects.toThrow('a statement failed unnoticed');
  expect(await run(db, 'select n from noticed')).toEqual([]);
});

test('a transaction whose connection is cut between statements fails, and the connection is not reused', async () => {
  const pid = async (on: Executor) => (await run(on, 'select pg_backend_pid() as pid'))[0]?.pid;
  let cut: unknown;
  const transaction = db.transaction(async (tx) => {
    cut = await pid(tx);
    await run(db, `select pg_terminate_backend(${cut}, 10000)`);
    // Time for this side to notice, without a statement on that connection.
    await run(db, 'select pg_sleep(0.05)');
  });
  await expect(transaction).rejects.toThrow(/terminat|not queryable|ended/i);
  expect(await Promise.all([pid(db), pid(db)])).not.toContain(cut);
});
