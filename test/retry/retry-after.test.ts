import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/retry/retry-after.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');

test.each([
  ['missing', undefined, undefined],
  ['in seconds', '120', 120_000],
  ['none at all', '0', 0],
  ['a date to come', 'Sat, 21 Nov 2026 10:00:30 GMT', 30_000],
  ['a date that has passed', 'Sat, 21 Nov 2026 09:00:00 GMT', 0],
  ['neither', 'soon', undefined],
  ['no whole number', '1.5', undefined],
  ['less than nothing', '-1', undefined],
])('Retry-After that is %s', (_, value, expected) => {
  expect(parseRetryAfter(value, NOW)).toBe(expected);
});
