import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FairQueue } from '../../../src/operator/controller/fair-queue.ts';

test('lets namespaces take turns, and keeps the order within each', () => {
  const queue = new FairQueue();
  for (const key of ['a/1', 'a/2', 'x', 'b/1', 'y', 'b/2']) queue.push(key);
  const taken = Array.from({ length: 7 }, () => queue.shift());
  expect(taken).toEqual(['a/1', 'x', 'b/1', 'a/2', 'y', 'b/2', undefined]);
});

test('lets the shares of a namespace take turns, and passes over those that are not free', () => {
  const queue = new FairQueue();
  for (const key of ['a/1', 'a/2', 'a/3']) queue.push(key, 'slow');
  for (const key of ['a/4', 'a/5']) queue.push(key, 'quick');
  const isQuick = (share: string) => share === 'quick';
  expect([queue.shift(), queue.shift(), queue.shift(isQuick), queue.shift(isQuick)]).toEqual([
    ...['a/1', 'a/4', 'a/5'],
    undefined,
  ]);
  expect([queue.shift(), queue.shift(), queue.shift()]).toEqual(['a/2', 'a/3', undefined]);
});

/** Pushes a key for each namespace given, takes one for each `undefined`, then takes the rest. Returns the faults. */
function faultsOf(sequence: readonly (number | undefined)[]): string[] {
  const faults: string[] = [];
  const queue = new FairQueue();
  const waiting = new Map<string, string[]>();
  /** How many turns other namespaces have had since each began to wait for its own. */
  const passedOver = new Map<string, number>();
  const push = (namespace: string, key: string) => {
    queue.push(key);
    const keys = waiting.get(namespace);
    if (keys) keys.push(key);
    else {
      waiting.set(namespace, [key]);
      passedOver.set(namespace, 0);
    }
  };
  const take = () => {
    const key = queue.shift();
    const [namespace = ''] = key?.split('/') ?? [];
    const keys = waiting.get(namespace) ?? [];
    if (key === undefined ? waiting.size > 0 : key !== keys.shift()) faults.push(`${key} was not next`);
    passedOver.delete(namespace);
    for (const [other, times] of passedOver) {
      if (times + 1 >= 5) faults.push(`${other} was passed over`);
      passedOver.set(other, times + 1);
    }
    if (keys.length === 0) waiting.delete(namespace);
    else passedOver.set(namespace, 0);
    return key;
  };
  for (const [number, namespace] of sequence.entries()) {
    if (namespace === undefined) take();
    else push(`n${namespace}`, `n${namespace}/${number}`);
  }
  while (take() !== undefined);
  for (const key of [...waiting.values()].flat()) faults.push(`${key} was lost`);
  return faults;
}

test('in any sequence, no key is lost, the order is kept, and no namespace waits longer than one round', () => {
  const moves = fc.array(fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 4 }) }, fc.constant(undefined)), {
    size: 'large',
  });
  fc.assert(fc.property(moves, (sequence) => void expect(faultsOf(sequence)).toEqual([])));
});

test('keeps the order of thousands of keys', () => {
  const queue = new FairQueue();
  const keys = Array.from({ length: 5_000 }, (_, n) => `a/${n}`);
  for (const key of keys) queue.push(key);
  expect(keys.map(() => queue.shift())).toEqual(keys);
});
