import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { createDeadlines } from '../../../src/api/http/deadlines.ts';
import { atEnd } from '../harness.ts';

/** Numbers below `count` in an order that is no order. */
const shuffled = (count: number) => Array.from({ length: count }, (_, n) => (n * 7919) % count);

describe('on a clock that stands still', () => {
  function started(limitMs: number) {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const late: string[] = [];
    const deadlines = createDeadlines<string>({ limitMs, onLate: (what) => void late.push(what) });
    onTestFinished(() => {
      deadlines.stop();
      vi.useRealTimers();
    });
    return { late, ...deadlines };
  }

  test.each([400, 8_000])('what has not ended is late after its limit, and not before: %d ms', (limitMs) => {
    const { late, begin } = started(limitMs);
    begin('first');
    vi.advanceTimersByTime(limitMs - 1);
    expect(late).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(late).toEqual(['first']);
  });

  test('it is noticed within a quarter of the limit, and within a second', () => {
    for (const [limitMs, longestMs] of [
      [400, 100],
      [8_000, 1_000],
    ] as const) {
      const { late, begin } = started(limitMs);
      vi.advanceTimersByTime(1);
      begin('x');
      vi.advanceTimersByTime(limitMs + longestMs - 1);
      expect(late).toEqual(['x']);
    }
  });

  test('each ends by itself, wherever it is among the others, and once', () => {
    const { late, begin, end } = started(400);
    const [a, b, c, d] = [begin('a'), begin('b'), begin('c'), begin('d')];
    expect([end(b), end(b)]).toEqual([true, false]);
    expect([end(d), end(d)]).toEqual([true, false]);
    const e = begin('e');
    vi.advanceTimersByTime(500);
    expect(late.toSorted()).toEqual(['a', 'c', 'e']);
    expect([a, c, e].map(end)).toEqual([false, false, false]);
    vi.advanceTimersByTime(500);
    expect(late).toHaveLength(3);
  });

  test('nothing is late once all is stopped', () => {
    const { late, begin, stop } = started(400);
    begin('a');
    stop();
    vi.advanceTimersByTime(1_000);
    expect(late).toEqual([]);
  });
});

test('what ends in time is never late, and what does not is late once', async () => {
  const late: number[] = [];
  const deadlines = createDeadlines<number>({
    limitMs: 50,
    onLate: (n) => void late.push(n),
  });
  atEnd(async () => deadlines.stop());
  const begun = Array.from({ length: 1000 }, (_, n) => deadlines.begin(n));
  for (const n of shuffled(1000)) {
    const deadline = begun[n];
    if (n % 10 < 9 && deadline) expect(deadlines.end(deadline)).toBe(true);
  }
  await waitFor('all that was left to be late', () => late.length >= 100 || undefined);
  // One more round, in which nothing else may come.
  const last = deadlines.begin(1000);
  await waitFor('the last one to be late', () => late.includes(1000) || undefined);
  expect(late.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 100 }, (_, n) => 10 * n + 9), 1000]);
  for (const deadline of [...begun, last]) expect(deadlines.end(deadline)).toBe(false);
});
