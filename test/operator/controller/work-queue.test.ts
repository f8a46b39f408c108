import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WorkQueue } from '../../../src/operator/controller/work-queue.ts';

const backoff = { firstMs: 1_000, longestMs: 60_000 };

describe('a work queue', () => {
  test('hands keys out in the order in which they were added', async () => {
    const queue = new WorkQueue({ backoff });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['a', 'b', 'c']);
  });

  test('takes all keys for needed unless told otherwise', async () => {
    const queue = new WorkQueue({ backoff });
    queue.addIfNeeded('a');
    queue.add('b');
    expect(await queue.get()).toBe('a');
  });

  test('lets namespaces take turns', async () => {
    const queue = new WorkQueue({ backoff });
    for (const key of ['a/1', 'a/2', 'a/3', 'b/1']) queue.add(key);
    const taken = [await queue.get(), await queue.get(), await queue.get(), await queue.get()];
    expect(taken).toEqual(['a/1', 'b/1', 'a/2', 'a/3']);
  });

  test('takes no keys that are not this process’s', async () => {
    const queue = new WorkQueue({ backoff, accepts: (key) => key !== 'b' });
    for (const key of ['a', 'b']) queue.add(key);
    queue.addIfNeeded('b');
    expect(queue.depth).toBe(1);
    expect(await queue.get()).toBe('a');
  });

  test('does not remember that a key was added when it was not this process’s', async () => {
    const ours = new Set<string>();
    const queue = new WorkQueue({ backoff, accepts: (key) => ours.has(key), isNeeded: (key) => key === 'last' });
    queue.add('a');
    for (const key of ['a', 'last']) {
      ours.add(key);
      queue.addIfNeeded(key);
    }
    expect(await queue.get()).toBe('last');
  });

  test('holds a key once, however often it was added', async () => {
    const queue = new WorkQueue({ backoff });
    for (const key of ['a', 'a', 'b', 'a']) queue.add(key);
    expect(queue.depth).toBe(2);
    expect([await queue.get(), await queue.get()]).toEqual(['a', 'b']);
    expect(queue.depth).toBe(0);
  });

  test('has one worker at a time process a key, and again if it was added meanwhile', async () => {
    const queue = new WorkQueue({ backoff });
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    expect(queue.depth).toBe(0);
    expect([...queue.processingSince()]).toHaveLength(1);
    queue.done('a');
    expect(queue.depth).toBe(1);
    expect(await queue.get()).toBe('a');
    queue.done('a');
    expect(queue.depth).toBe(0);
    expect([...queue.processingSince()]).toEqual([]);
  });

  test('gives a key to a waiting worker, the longest-waiting first', async () => {
    const queue = new WorkQueue({ backoff });
    const [first, second] = [queue.get(), queue.get()];
    queue.add('a');
    queue.add('b');
    expect(await first).toBe('a');
    expect(await second).toBe('b');
  });

  test('keeps its order over many keys', async () => {
    const queue = new WorkQueue({ backoff });
    const keys = Array.from({ length: 5_000 }, (_, n) => `k${n}`);
    for (const key of keys) queue.add(key);
    const taken: (string | undefined)[] = [];
    while (queue.depth > 0) taken.push(await queue.get());
    expect(taken).toEqual(keys);
  });

  test('when shut down, dismisses waiting and new workers, and accepts no keys', async () => {
    const queue = new WorkQueue({ backoff });
    const waiting = queue.get();
    queue.shutDown();
    queue.add('a');
    queue.addAfter('b', 0);
    expect(await waiting).toBeUndefined();
    expect(await queue.get()).toBeUndefined();
    expect(queue.depth).toBe(0);
  });

  test('when shut down, does not requeue a key added while being processed', async () => {
    const queue = new WorkQueue({ backoff });
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.shutDown();
    queue.done('a');
    expect(queue.depth).toBe(0);
  });

  test.each([
    ['not needed, is skipped', false, ['addIfNeeded'], []],
    ['needed, is handed out', true, ['addIfNeeded'], ['a']],
    ['not needed but added all the same, is handed out', false, ['add'], ['a']],
    ['not needed and added in both ways, is handed out once', false, ['addIfNeeded', 'add'], ['a']],
    ['not needed and added in both ways, in whatever order', false, ['add', 'addIfNeeded'], ['a']],
  ] as const)('a key that is %s', async (_, needed, ways, expected) => {
    const queue = new WorkQueue({ backoff, isNeeded: (key) => key === 'last' || needed });
    for (const way of ways) queue[way]('a');
    queue.addIfNeeded('last');
    for (const key of [...expected, 'last']) expect(await queue.get()).toBe(key);
    expect(queue.depth).toBe(0);
  });

  test('asks whether a key is needed when its turn comes, not when it is added', async () => {
    const needed = new Set(['a', 'b']);
    const queue = new WorkQueue({ backoff, isNeeded: (key) => needed.has(key) });
    queue.addIfNeeded('a');
    await queue.get();
    queue.addIfNeeded('a');
    needed.delete('a');
    queue.done('a');
    queue.addIfNeeded('b');
    expect(await queue.get()).toBe('b');
    expect(queue.depth).toBe(0);
  });

  test('keeps an added key needed, even if it was added while being processed', async () => {
    const queue = new WorkQueue({ backoff, isNeeded: () => false });
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.done('a');
    expect(await queue.get()).toBe('a');
  });

  test('hands a dropped key out only if it is needed', async () => {
    const queue = new WorkQueue({ backoff, isNeeded: (key) => key === 'last' });
    queue.add('a');
    queue.drop('a');
    queue.addIfNeeded('last');
    expect(await queue.get()).toBe('last');
  });

  test('leaves a worker waiting when the key that arrives is not needed', async () => {
    const queue = new WorkQueue({ backoff, isNeeded: (key) => key === 'b' });
    const next = queue.get();
    queue.addIfNeeded('a');
    queue.addIfNeeded('b');
    expect(await next).toBe('b');
    expect([...queue.processingSince()]).toHaveLength(1);
  });

  test('notifies its observer', async () => {
    const seen: string[] = [];
    const queue = new WorkQueue({
      backoff,
      observer: {
        added: () => seen.push('added'),
        handedOut: () => seen.push('handed out'),
        done: () => seen.push('done'),
        retried: () => seen.push('retried'),
      },
    });
    queue.add('a');
    queue.add('a');
    await queue.get();
    queue.addRateLimited('a');
    queue.done('a');
    queue.shutDown();
    expect(seen).toEqual(['added', 'handed out', 'retried', 'done']);
  });
});

describe('the clock of a work queue', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('tells its observer how many seconds each key has waited and been worked on', async () => {
    const seen: (string | number)[][] = [];
    const observer = {
      handedOut: (seconds: number) => seen.push(['waited', seconds]),
      done: (seconds: number) => seen.push(['worked', seconds]),
    };
    const queue = new WorkQueue({ backoff, observer });
    vi.advanceTimersByTime(10_000);
    queue.add('a');
    vi.advanceTimersByTime(2_000);
    await queue.get();
    vi.advanceTimersByTime(500);
    queue.done('a');
    expect(seen).toEqual([
      ['waited', 2],
      ['worked', 0.5],
    ]);
  });
});

describe('the timers of a work queue', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('add a key when due; the earliest of several wins, and the others never come', async () => {
    const queue = new WorkQueue({ backoff });
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 500);
    queue.addAfter('a', 5_000);
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
    expect(waits()).toSatisfy(within(2_000, 4_000));
    for (let failure = 0; failure < 10; failure++) waits();
    expect(waits()).toSatisfy(within(30_000, 60_000));
    expect(waits({ atLeastMs: 90_000 })).toBe(90_000);
    expect(waits({ longestMs: 600_000 })).toSatisfy(within(300_000, 600_000));
    expect(queue.failures('a')).toBe(16);
    queue.forget('a');
    expect(queue.failures('a')).toBe(0);
    expect(waits({ quickFirst: true })).toBeLessThan(100);
    expect(waits({ quickFirst: true })).toSatisfy(within(1_000, 2_000));
  });

  test('end when their key is dropped, and with the queue', () => {
    const queue = new WorkQueue({ backoff });
    queue.addAfter('a', 1_000);
    queue.drop('a');
    queue.addAfter('b', 1_000);
    queue.shutDown();
    queue.addAfter('c', 1_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('start anew after their key was dropped', () => {
    const queue = new WorkQueue({ backoff });
    queue.addRateLimited('a');
    queue.drop('a');
    expect(queue.failures('a')).toBe(0);
    queue.addAfter('a', 2_000);
    vi.advanceTimersByTime(2_000);
    expect(queue.depth).toBe(1);
  });
});
