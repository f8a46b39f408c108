/** What comes before the body: how much of it there may be, and of whom. */
import { expect, test } from 'vitest';
import { HEAD_LIMITS, headProblem, LINES_READ } from '../../../src/api/http/head.ts';

const lines = (count: number) => Array.from({ length: count }, (_, n) => [`x-${n}`, 'host']).flat();
const details = (rawHeaders: string[]) => headProblem({ rawHeaders })?.details;

test('its bounds are those that the answer names, and one line more is read', () => {
  expect(HEAD_LIMITS).toEqual({ bytes: 8192, lines: 100 });
  expect(LINES_READ).toBe(101);
});

test('of lines there may be as many as the bound', () => {
  expect(details(lines(HEAD_LIMITS.lines))).toBeUndefined();
  expect(details(lines(HEAD_LIMITS.lines + 1))).toEqual({ headers: 'are more than 8192 bytes or 100 lines' });
});

test.each([[['Host', 'a', 'x', 'y', 'host', 'a']], [['x', 'y', 'HOST', 'a', 'host', 'b']]])(
  'two hosts are refused: %j',
  (rawHeaders) => {
    expect(details(rawHeaders)).toEqual({ Host: 'must be given only once' });
  },
);

test.each([[[]], [['Host', 'a']], [['x', 'host', 'y', 'host']], [['Host', 'host', 'hosts', 'b', 'hos', 'c']]])(
  'one host or none is not: %j',
  (rawHeaders) => {
    expect(details(rawHeaders)).toBeUndefined();
  },
);
