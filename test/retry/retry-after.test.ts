import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/retry/retry-after.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');

test.each([
  ['missing', undefined, undefined],
  ['in seconds', '120', 120_000],
  ['zero', '0', 0],
  ['a date in the future', 'Sat, 21 Nov 2026 10:00:30 GMT', 30_000],
  ['a date in the past', 'Sat, 21 Nov 2026 09:00:00 GMT', 0],
  ['neither a number nor a date', 'soon', undefined],
  ['not a whole number', '1.5', undefined],
  ['negative', '-1', undefined],
])('a Retry-After that is %s', (_, value, expected) => {
  expect(parseRetryAfter(value, NOW)).toBe(expected);
});
