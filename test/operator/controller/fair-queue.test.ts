import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FairQueue } from '../../../src/operator/controller/fair-queue.ts';

test('lets namespaces take turns, and keeps the order within each', () => {
  const queue = new FairQueue();
  for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'a/4', 'b/2', 'c/1']) queue.push(key);
  const taken = Array.from({ length: 8 }, () => queue.shift());
  expect(taken).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3', 'a/4', undefined]);
});

test('whatever comes and goes: nothing is lost, order is kept, and nobody is passed over twice', () => {
  const moves = fc.array(fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 4 }) }, fc.constant(undefined)), {
    size: 'large',
  });
  fc.assert(
    fc.property(moves, (sequence) => {
      const queue = new FairQueue();
      const waiting = new Map<string, string[]>();
      /** How often another has had a turn since each began to wait for its own. */
      const passedOver = new Map<string, number>();
      let number = 0;
      const take = () => {
        const key = queue.shift();
        if (waiting.size === 0) return expect(key).toBeUndefined();
        const [namespace = ''] = key?.split('/') ?? [];
        const keys = waiting.get(namespace) ?? [];
        expect(key).toBe(keys.shift());
        passedOver.delete(namespace);
        for (const [other, times] of passedOver) {
          expect(times + 1).toBeLessThan(5);
          passedOver.set(other, times + 1);
        }
        if (keys.length === 0) waiting.delete(namespace);
        else passedOver.set(namespace, 0);
      };
      for (const namespace of sequence) {
        if (namespace === undefined) {
          take();
          continue;
        }
        const key = `n${namespace}/${++number}`;
        queue.push(key);
        const keys = waiting.get(`n${namespace}`);
        if (keys) keys.push(key);
        else {
          waiting.set(`n${namespace}`, [key]);
          passedOver.set(`n${namespace}`, 0);
        }
      }
      while (waiting.size > 0) take();
      take();
    }),
  );
});

test('keeps the order of many', () => {
  const queue = new FairQueue();
  const keys = Array.from({ length: 5_000 }, (_, n) => `a/${n}`);
  for (const key of keys) queue.push(key);
  expect(keys.map(() => queue.shift())).toEqual(keys);
  expect(queue.shift()).toBeUndefined();
});
