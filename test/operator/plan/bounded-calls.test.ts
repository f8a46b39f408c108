import { expect, test } from 'vitest';
import { BoundedCalls, CALLS_AT_A_TIME } from '../../../src/operator/plan/bounded-calls.ts';

test('a limited number of calls runs at a time, and none begins once the plan has ended', async () => {
  const calls = new BoundedCalls();
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  let begun = 0;
  const results = Promise.allSettled(
    Array.from({ length: CALLS_AT_A_TIME + 2 }, () =>
      calls.admit(() => {
        begun += 1;
        return answer;
      }),
    ),
  );
  await new Promise(setImmediate);
  expect(begun).toBe(CALLS_AT_A_TIME);
  calls.end();
  resolve('answer');
  const statuses = (await results).map(({ status }) => status);
  expect(statuses).toEqual([...Array(CALLS_AT_A_TIME).fill('fulfilled'), 'rejected', 'rejected']);
  expect(begun).toBe(CALLS_AT_A_TIME);
});

test('a call that waits for the end of a pause is aborted when the plan ends', async () => {
  const calls = new BoundedCalls();
  const busy = Object.assign(new Error('busy'), { retryAfterMs: 300_000 });
  await expect(calls.admit(() => Promise.reject(busy))).rejects.toBe(busy);
  const waiting = calls.admit(async () => 'answer');
  calls.end();
  await expect(waiting).rejects.toThrow('aborted');
});
