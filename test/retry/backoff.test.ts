import { expect, test } from 'vitest';
import { backoff, jittered } from '../../src/retry/backoff.ts';

const options = { firstMs: 1_000, longestMs: 60_000 };

test.each([
  [1, 500, 1_000],
  [2, 1_000, 2_000],
  [6, 16_000, 32_000],
  [7, 30_000, 60_000],
  [1_000, 30_000, 60_000],
])('after %i failures the delay is from %i to %i ms', (failures, least, most) => {
  expect(backoff(failures, options, () => 0)).toBe(least);
  expect(backoff(failures, options, () => 1)).toBe(most);
});

test('jitter goes in both directions', () => {
  expect([0, 0.5, 1].map((random) => jittered(1_000, 0.1, () => random))).toEqual([900, 1_000, 1_100]);
});
