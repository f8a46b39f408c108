/** How a failed start is explained, and when it is retried; start-failure.test.ts has the lines that users see. */
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { cannotKeepData, cannotUseDatabase, onceReachable } from '../../src/api/start-failure.ts';
import { CannotStart } from '../../src/settings/cannot-start.ts';

const URL_WITH_SECRETS = 'postgres://u:hidden@one:5432/db';
const coded = (code: string, message = code) => Object.assign(new Error(message), { code });
const refused = () => coded('ECONNREFUSED');
const fromServer = (code: string) => Object.assign(new pg.DatabaseError('no', 2, 'error'), { code });

describe('a database that cannot be used', () => {
  test.each([
    ['a system error', coded('ECONNREFUSED', 'connect refused'), 'connect refused'],
    ['an error of the server', new pg.DatabaseError('no such role', 12, 'error'), 'no such role'],
    ['an error of the driver', new Error('Connection terminated unexpectedly'), 'Connection terminated unexpectedly'],
    ['each of several addresses', new AggregateError([coded('A', 'one'), coded('B', 'two')]), 'one; two'],
    ['a failed migration', new Error('0001 failed', { cause: coded('42P01', 'no table') }), '0001 failed: no table'],
  ])('is reported with the reason of %s', (_, error, reason) => {
    const told = cannotUseDatabase(error, URL_WITH_SECRETS);
    expect(told).toBeInstanceOf(CannotStart);
    expect(told).toMatchObject({
      message: `DATABASE_URL: cannot use the database at one:5432/db: ${reason}`,
      cause: error,
    });
  });

  test.each([
    ['a bug of ours', new TypeError('x is not a function')],
    ['an error caused by a bug', new Error('failed', { cause: new Error('x') })],
    ['a value that is not an error', 'x'],
    ['an error that already says why it failed', new CannotStart('cannot print', { cause: coded('EPIPE') })],
  ])('is not blamed for %s', (_, error) => {
    expect(cannotUseDatabase(error, URL_WITH_SECRETS)).toBe(error);
  });
});

test('an embedded database that cannot run is reported with its folder', () => {
  const error = coded('ENOTDIR');
  const told = cannotKeepData(error, 'data');
  expect(told).toBeInstanceOf(CannotStart);
  expect(told).toMatchObject({ message: 'DATA_DIR: cannot run PostgreSQL in data: ENOTDIR', cause: error });
  expect(cannotKeepData('x', 'data')).toBe('x');
});

describe('a database that is not there yet', () => {
  const failing = (errors: Error[]) => {
    const attempt = vi.fn(async () => {
      const error = errors.shift();
      if (error) throw error;
      return 'there';
    });
    const onWait = vi.fn<(error: unknown) => void>();
    return { attempt, onWait };
  };

  test('is waited for, which is reported once, with the first reason', async () => {
    const first = refused();
    const { attempt, onWait } = failing([first, refused()]);
    expect(await onceReachable(attempt, { waitMs: 60_000, onWait })).toBe('there');
    expect(attempt).toHaveBeenCalledTimes(3);
    expect(onWait).toHaveBeenCalledTimes(1);
    expect(onWait.mock.calls[0]?.[0]).toBe(first);
  });

  test('is not waited for when the wait is zero', async () => {
    const { attempt, onWait } = failing([refused()]);
    await expect(onceReachable(attempt, { waitMs: 0, onWait })).rejects.toThrow('ECONNREFUSED');
    expect(attempt).toHaveBeenCalledTimes(1);
    expect(onWait).not.toHaveBeenCalled();
  });

  test.each([
    ['refused access', fromServer('28000')],
    ['a wrong password', fromServer('28P01')],
    ['a database that does not exist', fromServer('3D000')],
    ['a bug of ours', new TypeError('x is not a function')],
  ])('is not waited for when somebody has to fix it: %s', async (_, error) => {
    const { attempt, onWait } = failing([error]);
    await expect(onceReachable(attempt, { waitMs: 60_000, onWait })).rejects.toBe(error);
    expect(attempt).toHaveBeenCalledTimes(1);
    expect(onWait).not.toHaveBeenCalled();
  });
});
