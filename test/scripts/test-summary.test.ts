import { expect, test } from 'vitest';
import { summaryLines } from '../../scripts/test-summary.ts';

test('counts alone, when nothing was skipped', () => {
  expect(summaryLines({ passed: 3, failed: 0, skipped: [] })).toEqual(['3 passed, 0 failed']);
});

test('a line for each reason, the most frequent first, and for tests without one', () => {
  const skipped = [
    { reason: 'no Python' },
    { reason: 'no sshd' },
    { name: 'a > b' },
    { reason: 'no sshd' },
    { name: 'a > c' },
  ];
  expect(summaryLines({ passed: 1, failed: 2, skipped })).toEqual([
    '2 skipped: no sshd',
    '1 skipped: no Python',
    '2 skipped, no reason given: a > b, a > c',
    '1 passed, 2 failed, 5 skipped',
  ]);
});

test('no more than a few names', () => {
  const skipped = Array.from({ length: 9 }, (_, n) => ({ name: `t${n}` }));
  expect(summaryLines({ passed: 0, failed: 0, skipped })[0]).toBe('9 skipped, no reason given: t0, t1, t2, t3, t4, …');
});
