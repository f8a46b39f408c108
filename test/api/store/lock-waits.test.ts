/** Attempts and messages; migrations-processes.test.ts has sessions that do hold locks. */
import { expect, test, vi } from 'vitest';
import { patiently, saidOf } from '../../../src/api/store/lock-waits.ts';

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
