import { describe, expect, test } from 'vitest';
import { afterFailure } from '../../../../src/api/events/delivery/schedule.ts';

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const MIDDLE = () => 0.5;

/** Milliseconds until the next attempt; undefined if there is none. */
function wait(attempts: number, { sinceFirst = 0, answer = {}, random = MIDDLE } = {}): number | undefined {
  const next = afterFailure({ attempts, sinceFirstMs: sinceFirst }, answer, random);
  return 'retryMs' in next ? next.retryMs : undefined;
}

describe('after a failure', () => {
  test.each([
    [1, 5 * SECOND],
    [2, MINUTE],
    [3, 5 * MINUTE],
    [4, 30 * MINUTE],
    [5, 2 * HOUR],
    [6, 6 * HOUR],
    [7, 12 * HOUR],
    [8, 12 * HOUR],
    [11, 12 * HOUR],
  ])('number %i, the next attempt is in %i ms, give or take a fifth', (attempts, ms) => {
    expect(wait(attempts)).toBe(ms);
    expect(wait(attempts, { random: () => 0 })).toBeCloseTo(ms * 0.8);
    expect(wait(attempts, { random: () => 1 })).toBeCloseTo(ms * 1.2);
  });

  test.each([
    [60 * HOUR, 12 * HOUR],
    [68 * HOUR, 4 * HOUR],
    [72 * HOUR - 1, 1],
    [72 * HOUR, undefined],
  ])('%i ms after the first attempt, the last one is made three days after the first', (sinceFirst, expected) => {
    expect(wait(9, { sinceFirst })).toBe(expected);
    expect(wait(9, { sinceFirst, answer: { retryAfterMs: 24 * HOUR } })).toBe(expected);
  });

  test.each([
    [1, 20 * SECOND, 20 * SECOND],
    [1, 2 * SECOND, 5 * SECOND],
    [1, 24 * HOUR, HOUR],
    [6, 24 * HOUR, 6 * HOUR],
  ])('number %i with Retry-After of %i ms, the next attempt is in %i ms', (attempts, retryAfterMs, ms) => {
    expect(wait(attempts, { answer: { retryAfterMs } })).toBe(ms);
  });
});
