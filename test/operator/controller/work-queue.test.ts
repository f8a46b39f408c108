import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WorkQueue, type WorkQueueOptions } from '../../../src/operator/controller/work-queue.ts';

const backoff = { firstMs: 1_000, longestMs: 60_000 };
/** A share is the letter before the digit, as in `a1`. */
const ONE_OF_EACH: Partial<WorkQueueOptions> = { shares: { of: (key) => key.slice(0, 1), most: 1 } };
const ONLY_LAST: Partial<WorkQueueOptions> = { isNeeded: (key) => key === 'last' };

/** A step is a verb and its key, or the result that `get`, `depth` or `busy` (keys in progress) must have. */
test.each<[string, string[], Partial<WorkQueueOptions>?]>([
  ['keys in their order, each once', ['add a', 'add a', 'add b', 'depth 2', 'add a', 'get a', 'get b', 'depth 0']],
  ['namespaces in turn', ['add a/1', 'add a/2', 'add a/3', 'add b/1', 'get a/1', 'get b/1', 'get a/2', 'get a/3']],
  [
    'a key to one worker at a time, and again if it was added meanwhile',
    [
      'add a',
      'get a',
      'add a',
      'add a',
      'depth 0',
      'busy 1',
      'done a',
      'depth 1',
      'get a',
      'done a',
      'depth 0',
      'busy 0',
    ],
  ],
  ['all keys, unless told which are needed', ['addIfNeeded a', 'get a']],
  ['only keys that are needed', ['addIfNeeded a', 'addIfNeeded last', 'get last', 'depth 0'], ONLY_LAST],
  [
    'a key that is not needed but was added unconditionally',
    ['add a', 'addIfNeeded a', 'addIfNeeded last', 'get a', 'get last'],
    ONLY_LAST,
  ],
  [
    'a key only once that was added in both ways',
    ['addIfNeeded a', 'add a', 'add last', 'get a', 'get last', 'depth 0'],
    ONLY_LAST,
  ],
  ['a key again that was added while it was processed', ['add a', 'get a', 'add a', 'done a', 'get a'], ONLY_LAST],
  ['no key that was dropped', ['add a', 'drop a', 'addIfNeeded last', 'get last'], ONLY_LAST],
  [
    'only keys that it accepts',
    ['add a', 'add b', 'addIfNeeded b', 'depth 1', 'get a'],
    { accepts: (key) => key !== 'b' },
  ],
  [
    'as many keys of one share at a time as it may, and those of others meanwhile',
    ['add a1', 'add a2', 'add b1', 'get a1', 'get b1', 'depth 1', 'done a1', 'get a2', 'done a2', 'add a1', 'get a1'],
    ONE_OF_EACH,
  ],
  ['no keys once it is shut down', ['shutDown', 'add a', 'get nothing', 'depth 0']],
  ['no keys that were added before it is shut down', ['add a', 'get a', 'add a', 'shutDown', 'done a', 'depth 0']],
])('a work queue hands out %s', async (_, steps, options) => {
  const queue = new WorkQueue({ backoff, ...options });
  for (const step of steps) {
    const [verb = '', key = ''] = step.split(' ');
    if (verb === 'get') expect((await queue.get()) ?? 'nothing').toBe(key);
    else if (verb === 'depth') expect(queue.depth, steps.join(', ')).toBe(Number(key));
    else if (verb === 'busy') expect([...queue.processingSince()]).toHaveLength(Number(key));
    else queue[verb as 'add' | 'addIfNeeded' | 'done' | 'drop' | 'shutDown'](key);
  }
});

describe('a work queue', () => {
  test('gives a key to the worker that has waited longest, and dismisses the waiting workers at shutdown', async () => {
    const queue = new WorkQueue({ backoff, isNeeded: (key) => key !== 'needless' });
    const [first, second, third] = [queue.get(), queue.get(), queue.get()];
    queue.addIfNeeded('needless');
    queue.addIfNeeded('a');
    queue.add('b');
    queue.shutDown();
    expect(await Promise.all([first, second, third])).toEqual(['a', 'b', undefined]);
  });

  test('gives a waiting worker the key that its share held back, once another of the share is done', async () => {
    const queue = new WorkQueue({ backoff, ...ONE_OF_EACH });
    for (const key of ['a1', 'a2', 'b1']) queue.add(key);
    const working = [await queue.get(), await queue.get()];
    const waiting = queue.get();
    queue.add('b2');
    queue.done('b1');
    expect([...working, await waiting, queue.depth]).toEqual(['a1', 'b1', 'b2', 1]);
    const last = queue.get();
    queue.done('a1');
    expect([await last, queue.depth]).toEqual(['a2', 0]);
  });

  test('serves all waiting workers once one is done, though a key has another share by then', async () => {
    const shareOf = new Map([['a2', 'a']]);
    const of = (key: string) => shareOf.get(key) ?? key.charAt(0);
    const queue = new WorkQueue({ backoff, shares: { of, most: 1 } });
    for (const key of ['a1', 'a2', 'a3']) queue.add(key);
    const first = await queue.get();
    const waiting = [queue.get(), queue.get()];
    shareOf.set('a2', 'b');
    queue.done('a1');
    expect([first, ...(await Promise.all(waiting))]).toEqual(['a1', 'a2', 'a3']);
  });

  test('passes over thousands of keys that are not needed, also when their share becomes free', async () => {
    const shares = { of: () => 'one', most: 1 };
    const queue = new WorkQueue({ backoff, shares, isNeeded: (key) => key === 'last' });
    const addAll = () => {
      for (let n = 0; n < 20_000; n++) queue.addIfNeeded(String(n));
      queue.addIfNeeded('last');
    };
    addAll();
    expect([await queue.get(), queue.depth]).toEqual(['last', 0]);
    const waiting = queue.get();
    addAll();
    queue.done('last');
    expect([await waiting, queue.depth]).toEqual(['last', 0]);
  });

  test('asks whether a key is needed when its turn comes, not when it is added', async () => {
    const needed = new Set(['a', 'b']);
    const queue = new WorkQueue({ backoff, isNeeded: (key) => needed.has(key) });
    queue.addIfNeeded('a');
    needed.delete('a');
    queue.addIfNeeded('b');
    expect([await queue.get(), queue.depth]).toEqual(['b', 0]);
  });
});

describe('the timers of a work queue', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('add a key when due; of several timers for a key, only the earliest fires', async () => {
    const queue = new WorkQueue({ backoff });
    for (const ms of [1_000, 500, 5_000]) queue.addAfter('a', ms);
    vi.advanceTimersByTime(499);
    expect(queue.depth).toBe(0);
    vi.advanceTimersByTime(1);
    expect(queue.depth).toBe(1);
    await queue.get();
    queue.done('a');
    vi.advanceTimersByTime(10_000);
    expect(queue.depth).toBe(0);
  });

  test('support longer delays than setTimeout', () => {
    const queue = new WorkQueue({ backoff });
    const days40 = 40 * 24 * 3_600_000;
    queue.addAfter('a', days40);
    vi.advanceTimersByTime(days40 - 1);
    expect(queue.depth).toBe(0);
    vi.advanceTimersByTime(1);
    expect(queue.depth).toBe(1);
  });

  test('grow with every failure, start over after a success, and respect the lower bound', () => {
    const queue = new WorkQueue({ backoff });
    const waits = (options?: Parameters<WorkQueue['addRateLimited']>[1]) => {
      queue.addRateLimited('a', options);
      const began = performance.now();
      while (queue.depth === 0) vi.advanceTimersToNextTimer();
      void queue.get();
      queue.done('a');
      return performance.now() - began;
    };
    const within = (least: number, most: number) => (ms: number) => ms >= least && ms <= most;
    expect(waits()).toSatisfy(within(500, 1_000));
    expect(waits()).toSatisfy(within(1_000, 2_000));
    for (let failure = 0; failure < 10; failure++) waits();
    expect(waits()).toSatisfy(within(30_000, 60_000));
    expect(waits({ atLeastMs: 90_000 })).toBe(90_000);
    expect(waits({ longestMs: 600_000 })).toSatisfy(within(300_000, 600_000));
    expect(queue.failures('a')).toBe(15);
    queue.forget('a');
    expect(queue.failures('a')).toBe(0);
    expect(waits({ quickFirst: true })).toBeLessThan(100);
    expect(waits({ quickFirst: true })).toSatisfy(within(1_000, 2_000));
  });

  test('are cleared when their key is dropped, or when the queue is shut down', () => {
    const queue = new WorkQueue({ backoff });
    queue.addAfter('a', 1_000);
    queue.drop('a');
    queue.addRateLimited('b');
    queue.drop('b');
    expect(queue.failures('b')).toBe(0);
    queue.addAfter('b', 1_000);
    queue.shutDown();
    queue.addAfter('c', 1_000);
    expect(vi.getTimerCount()).toBe(0);
  });
});
