import { expect, test } from 'vitest';
import { limitConcurrency } from '../../../src/api/ssh/limit-concurrency.ts';

/** Work that ends when the test resolves it. */
function stage(running: number, waiting: number) {
  const begun: PromiseWithResolvers<string>[] = [];
  const work = () => {
    const one = Promise.withResolvers<string>();
    begun.push(one);
    return one.promise;
  };
  const run = limitConcurrency(work, { running, waiting, refusal: () => new Error('too many') });
  return { begun, run };
}

test('limits how many calls run at once, and starts waiting calls in order as others end', async () => {
  const { begun, run } = stage(2, 2);
  const all = Array.from({ length: 4 }, run);
  expect(begun).toHaveLength(2);
  begun[1]?.resolve('second');
  expect(await all[1]).toBe('second');
  expect(begun).toHaveLength(3);
  begun[2]?.resolve('third');
  expect(await all[2]).toBe('third');
  expect(begun).toHaveLength(4);
});

test('refuses only a call for which there is no room to wait', async () => {
  const { begun, run } = stage(1, 1);
  const [first, second] = [run(), run()];
  await expect(run()).rejects.toThrow('too many');
  begun[0]?.resolve('first');
  expect(await first).toBe('first');
  begun[1]?.resolve('second');
  expect(await second).toBe('second');
});
