import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiClock } from '../../src/client/clock.ts';

const NOW = Date.parse('2026-11-21T10:00:00.500Z');
const at = (ms: number) => new Date(NOW + ms);

beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

test.each<[string, Date, number, number]>([
  ['the own one, if the response fits it', at(-500), 100, 0],
  ['the own one, if a slow response may fit it', at(-9_500), 10_000, 0],
  ['ahead at least as much as the response shows', at(3_600_000), 100, 3_600_000],
  ['behind at least as much as the response shows', at(-3_600_000), 100, -3_598_900],
])('the clock of the API is %s', (_, date, tookMs, expected) => {
  const clock = new ApiClock();
  expect(clock.now()).toEqual(at(0));
  clock.observe(date, NOW - tookMs);
  expect(clock.now()).toEqual(at(expected));
});

test('a slow response does not spoil what a quick one has shown', () => {
  const clock = new ApiClock();
  clock.observe(at(60_000), NOW);
  clock.observe(at(30_000), NOW - 50_000);
  expect(clock.now()).toEqual(at(60_000));
});
