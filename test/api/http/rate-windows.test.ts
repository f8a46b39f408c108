import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RateWindows } from '../../../src/api/http/rate-windows.ts';

const WINDOW_MS = 1_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  vi.advanceTimersByTime(10 * WINDOW_MS);
});
afterEach(() => void vi.useRealTimers());

function asked(windows: RateWindows, method: 'incr' | 'read', key = 'a') {
  const results: unknown[] = [];
  windows[method](key, (_, result) => results.push(result), WINDOW_MS);
  return results[0];
}

test('counts from the first request of a window to its end', () => {
  const windows = new RateWindows();
  expect(asked(windows, 'read')).toEqual({ current: 0, ttl: WINDOW_MS });
  expect(asked(windows, 'incr')).toEqual({ current: 1, ttl: WINDOW_MS });
  vi.advanceTimersByTime(WINDOW_MS - 1);
  expect(asked(windows, 'incr')).toEqual({ current: 2, ttl: 1 });
  expect(asked(windows, 'read')).toEqual({ current: 2, ttl: 1 });
  expect(asked(windows, 'incr', 'b')).toEqual({ current: 1, ttl: WINDOW_MS });
  vi.advanceTimersByTime(1);
  expect(asked(windows, 'read')).toEqual({ current: 0, ttl: WINDOW_MS });
  expect(asked(windows, 'incr')).toEqual({ current: 1, ttl: WINDOW_MS });
});

test.each([-3_600_000, 3_600_000])('wherever the clock of the machine is set (%i ms)', (step) => {
  const windows = new RateWindows();
  asked(windows, 'incr');
  vi.setSystemTime(Date.now() + step);
  expect(asked(windows, 'incr')).toEqual({ current: 2, ttl: WINDOW_MS });
  vi.advanceTimersByTime(WINDOW_MS);
  expect(asked(windows, 'incr')).toEqual({ current: 1, ttl: WINDOW_MS });
});

test('forgets who has not been heard of for longest, and shares nothing with a child', () => {
  const windows = new RateWindows();
  for (const key of ['idle', 'busy']) asked(windows, 'incr', key);
  for (let n = 0; n < 4_998; n++) asked(windows, 'incr', `${n}`);
  asked(windows, 'incr', 'busy');
  asked(windows, 'incr', 'one more');
  expect(asked(windows, 'read', 'idle')).toMatchObject({ current: 0 });
  expect(asked(windows, 'read', '0')).toMatchObject({ current: 1 });
  asked(windows, 'incr', 'another');
  expect(asked(windows, 'read', '0')).toMatchObject({ current: 0 });
  expect(asked(windows, 'read', 'busy')).toMatchObject({ current: 2 });
  expect(asked(windows.child(), 'read', 'busy')).toMatchObject({ current: 0 });
});
