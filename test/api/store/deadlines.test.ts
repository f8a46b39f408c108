import { expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { createDeadlines } from '../../../src/api/store/deadlines.ts';
import { atEnd } from '../harness.ts';

/** Numbers below `count` in an order that is no order. */
const shuffled = (count: number) => Array.from({ length: count }, (_, n) => (n * 7919) % count);

test('what ends in time is never late, and what does not is late once', async () => {
  const late: number[] = [];
  const deadlines = createDeadlines<number>({
    limitMs: 50,
    onLate: (n) => void late.push(n),
  });
  atEnd(async () => deadlines.stop());
  const begun = Array.from({ length: 1000 }, (_, n) => deadlines.begin(n));
  for (const n of shuffled(1000)) {
    const deadline = begun[n];
    if (n % 10 < 9 && deadline) expect(deadlines.end(deadline)).toBe(true);
  }
  await waitFor('all that was left to be late', () => late.length >= 100 || undefined);
  // One more round, in which nothing else may come.
  const last = deadlines.begin(1000);
  await waitFor('the last one to be late', () => late.includes(1000) || undefined);
  expect(late.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 100 }, (_, n) => 10 * n + 9), 1000]);
  for (const deadline of [...begun, last]) expect(deadlines.end(deadline)).toBe(false);
});
