import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { type Blocker, patiently, saidOf } from '../../../src/api/store/lock-waits.ts';
import { createTestDatabase } from '../../harness.ts';

const failure = (code: string) => Object.assign(new Error(code), { code });
const nobody = () => {
  const connect = vi.fn(async () => {
    throw new Error('nobody is to be asked');
  });
  return { connect, onWait: vi.fn<() => void>() };
};

test('who is waited for is named as pg_stat_activity shows them', () => {
  const psql = { pid: 4711, application_name: 'psql' };
  expect(saidOf([psql])).toBe('4711 (psql)');
  expect(saidOf([psql, { pid: 7, application_name: 'unknown' }])).toBe('4711 (psql), 7 (unknown)');
});

test('what gets its lock at once is done once, and nobody is asked', async () => {
  const others = nobody();
  const work = vi.fn(async () => 'done');
  expect(await patiently(1, work, others)).toBe('done');
  expect(work).toHaveBeenCalledTimes(1);
  expect(others.connect).not.toHaveBeenCalled();
});

test('what did not get its lock is tried again', async () => {
  const work = vi.fn<() => Promise<string>>().mockRejectedValueOnce(failure('55P03')).mockResolvedValueOnce('done');
  expect(await patiently(1, work, nobody())).toBe('done');
  expect(work).toHaveBeenCalledTimes(2);
});

test('what fails for another reason is not', async () => {
  const work = vi.fn<() => Promise<string>>().mockRejectedValueOnce(failure('23505'));
  await expect(patiently(1, work, nobody())).rejects.toThrow('23505');
  expect(work).toHaveBeenCalledTimes(1);
});

test('each set of sessions that are waited for is told once', async () => {
  const connectionString = await createTestDatabase();
  async function session(application_name: string) {
    const client = new pg.Client({ connectionString, application_name });
    onTestFinished(() => client.end());
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return { client, query: (text: string) => client.query(text), pid: Number(rows[0]?.pid), application_name };
  }
  const [one, other, waiting, watching] = [
    await session('one'),
    await session('other'),
    await session('waiting'),
    await session('watching'),
  ];
  for (const { query } of [one, other]) await query('select pg_advisory_lock_shared(1)');
  const looked = vi.spyOn(watching.client, 'query');
  const looks = (count: number) => waitFor('looks', () => looked.mock.calls.length >= count, { intervalMs: 10 });
  const ended = vi.spyOn(watching.client, 'end');
  const told: (readonly Blocker[])[] = [];
  const begun = Promise.withResolvers<void>();
  const work = async () => {
    // Until then it waits for nobody, which is not worth telling.
    await begun.promise;
    await waiting.query('select pg_advisory_lock(1)');
    return 'done';
  };
  const connect = async () => watching.client;
  const done = patiently(waiting.pid, work, { connect, onWait: (blockers) => void told.push(blockers) });
  await looks(1);
  begun.resolve();
  const shown = ({ pid, application_name }: Blocker) => ({ pid, application_name });
  const both = [one, other].map(shown).sort((a, b) => a.pid - b.pid);
  await waitFor('both', () => told.length > 0);
  await looks(looked.mock.calls.length + 2);
  await other.query('select pg_advisory_unlock_shared(1)');
  await waitFor('one', () => told.length > 1);
  await looks(looked.mock.calls.length + 2);
  expect(told).toEqual([both, [shown(one)]]);
  expect(ended).not.toHaveBeenCalled();
  await one.query('select pg_advisory_unlock_shared(1)');
  expect(await done).toBe('done');
  expect(ended).toHaveBeenCalledTimes(1);
});
