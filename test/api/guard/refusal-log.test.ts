/** What is logged when requests are refused by the thousand. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { failureLog, refusalLog, refusalLogs } from '../../../src/api/guard/refusal-log.ts';

const MINUTE_MS = 60_000;

let lines: [about: unknown, text: string | undefined][];
const log = {
  warn: (about: unknown, text?: string) => void lines.push([about, text]),
  error: (about: unknown, text?: string) => void lines.push([about, `error: ${text}`]),
};
/** The lines since the last call. */
const taken = () => lines.splice(0);

beforeEach(() => {
  lines = [];
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

const times = (count: number, act: () => void) => {
  for (let n = 0; n < count; n++) act();
};

test('the first refusal is logged, and then the count of each minute that had any', () => {
  const refused = refusalLog(log, { most: 5 }, { first: 'refusing', later: 'refused' });
  times(1000, refused);
  expect(taken()).toEqual([[{ most: 5 }, 'refusing']]);
  vi.advanceTimersByTime(MINUTE_MS - 1);
  expect(taken()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(taken()).toEqual([[{ most: 5, refused: 1000 }, 'refused']]);
  times(7, refused);
  expect(taken()).toEqual([]);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(taken()).toEqual([[{ most: 5, refused: 7 }, 'refused']]);
});

test('the first failure of a kind of work is logged with its cause, and then the count of each minute', () => {
  const failed = failureLog(log);
  const err = new Error('read-only');
  times(300, () => failed(err, 'deliver events', { destination: 'ed_1' }));
  failed(err, 'renew leases');
  expect(taken()).toEqual([
    [{ err, destination: 'ed_1' }, 'could not deliver events'],
    [{ err }, 'could not renew leases'],
  ]);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(taken()).toEqual([
    [{ failed: 300 }, 'could not deliver events'],
    [{ failed: 1 }, 'could not renew leases'],
  ]);
});

test('after a minute without refusals, the next one is logged as the first', () => {
  const refused = refusalLog(log, {}, { first: 'refusing', later: 'refused' });
  refused();
  vi.advanceTimersByTime(2 * MINUTE_MS);
  expect(taken()).toEqual([
    [{}, 'refusing'],
    [{ refused: 1 }, 'refused'],
  ]);
  expect(vi.getTimerCount()).toBe(0);
  refused();
  expect(taken()).toEqual([[{}, 'refusing']]);
});

test('a failure is logged in full for the first request, and then counted by its condition', () => {
  const failed = refusalLogs(log);
  const err = new Error('x');
  const ofRequest = { ...log, error: (about: unknown, text?: string) => void lines.push([about, `request: ${text}`]) };
  const fail = (condition: string) => failed('away', { err, level: 'error', condition, log: ofRequest });
  times(3, () => fail('ECONNREFUSED'));
  times(2, () => fail('admin_shutdown'));
  expect(taken()).toEqual([
    [{ err, condition: 'ECONNREFUSED' }, 'request: away'],
    [{ err, condition: 'admin_shutdown' }, 'request: away'],
  ]);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(taken()).toEqual([
    [{ condition: 'ECONNREFUSED', failed: 3 }, 'error: away'],
    [{ condition: 'admin_shutdown', failed: 2 }, 'error: away'],
  ]);
});

test('failures without a condition are counted by message, apart from refusals', () => {
  const failed = refusalLogs(log);
  const failure = { err: new Error('x'), level: 'warn', condition: undefined, log } as const;
  times(2, () => failed('late', failure));
  failed('locked', failure);
  failed('late');
  expect(taken().map(([, text]) => text)).toEqual(['late', 'locked', 'refusing requests']);
});
