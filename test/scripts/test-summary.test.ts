import { expect, test } from 'vitest';
import { summaryLines } from '../../scripts/test-summary.ts';

test('the summary has a line for each reason, the most frequent first, and one for tests without a reason', () => {
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
