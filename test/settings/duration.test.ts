import { expect, test } from 'vitest';
import { parseDuration } from '../../src/settings/duration.ts';

test.each([
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['720h', 2_592_000_000],
  ['1.5h', 5_400_000],
  ['100ms', 100],
  ['1m1ms', 60_001],
  ['0s', 0],
  ['1h1m1s1ms', 3_661_001],
])('%s is %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', '5', 'h', '-1h', '1d', '1h ', ' 1h', '1,5h', '1h30', '.5h', '1H', '1h1h', '30m1h', '1s1m', '1h1m1h'])(
  '"%s" is not a duration',
  (text) => {
    expect(() => parseDuration(text)).toThrow(RangeError);
  },
);
