import { expect, test } from 'vitest';
import { type Asked, validityOf } from '../../../src/api/ssh/validity.ts';

const NOW = Date.parse('2028-02-29T10:20:30.999Z');

test.each<[string, Asked, from: string, until: string]>([
  ['nothing: from now, for a year', {}, '2028-02-29T10:20:30.000Z', '2029-03-01T10:20:30.000Z'],
  [
    'null: the same as for nothing',
    { valid_after: null, valid_until: null },
    '2028-02-29T10:20:30.000Z',
    '2029-03-01T10:20:30.000Z',
  ],
  [
    'a start in the future: for a year from then',
    { valid_after: '2030-01-02T03:04:05Z' },
    '2030-01-02T03:04:05.000Z',
    '2031-01-02T03:04:05.000Z',
  ],
  [
    'a start in the past: until a year from now',
    { valid_after: '2001-01-02T03:04:05Z' },
    '2001-01-02T03:04:05.000Z',
    '2029-03-01T10:20:30.000Z',
  ],
  ['an end: from now', { valid_until: '2028-02-29T10:20:31Z' }, '2028-02-29T10:20:30.000Z', '2028-02-29T10:20:31.000Z'],
  [
    'a start that leads to the last year of RFC 3339',
    { valid_after: '9998-01-01T00:00:00Z' },
    '9998-01-01T00:00:00.000Z',
    '9999-01-01T00:00:00.000Z',
  ],
])('the validity when asked for %s', (_, asked, valid_after, valid_until) => {
  expect(validityOf(asked, NOW)).toEqual({ valid_after, valid_until });
});

test.each<[string, Asked, object]>([
  ['an end that has passed', { valid_until: '2028-02-29T10:20:30Z' }, { reason: 'must be in the future' }],
  [
    'an end that equals the start',
    { valid_after: '2030-01-02T03:04:05Z', valid_until: '2030-01-02T03:04:05Z' },
    {
      reason: 'must be after valid_after, which is 2030-01-02T03:04:05Z',
      fixed: 'must be after valid_after',
    },
  ],
  [
    'an end in a year that RFC 3339 cannot write',
    { valid_after: '9999-01-01T00:00:00Z' },
    { reason: 'would be after the year 9999; give an earlier one' },
  ],
])('refuses %s', (_, asked, refusal) => {
  expect(validityOf(asked, NOW)).toEqual(refusal);
});
