import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WorkQueue } from '../../../src/operator/controller/work-queue.ts';

const BACKOFF = { firstMs: 1_000, longestMs: 60_000 };

describe('a work queue', () => {
  test('hands keys out in the order in which they were added', async () => {
    const queue = new WorkQueue(BACKOFF);
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['a', 'b', 'c']);
  });

  test('holds a key once, however often it was added', async () => {
    const queue = new WorkQueue(BACKOFF);
    for (const key of ['a', 'a', 'b', 'a']) queue.add(key);
    expect(queue.depth).toBe(2);
    expect([await queue.take(), await queue.take()]).toEqual(['a', 'b']);
    expect(queue.depth).toBe(0);
  });

  test('has a key worked on by one at a time, and again when it was added meanwhile', async () => {
    const queue = new WorkQueue(BACKOFF);
    queue.add('a');
    await queue.take();
    queue.add('a');
    queue.add('a');
    expect(queue.depth).toBe(0);
    expect([...queue.underWay()]).toHaveLength(1);
    queue.done('a');
    expect(queue.depth).toBe(1);
    expect(await queue.take()).toBe('a');
    queue.done('a');
    expect(queue.depth).toBe(0);
    expect([...queue.underWay()]).toEqual([]);
  });

  test('gives a key to a worker that waits already, the longest waiting first', async () => {
    const queue = new WorkQueue(BACKOFF);
    const [first, second] = [queue.take(), queue.take()];
    queue.add('a');
    queue.add('b');
    expect(await first).toBe('a');
    expect(await second).toBe('b');
  });

  test('keeps its order over many keys', async () => {
    const queue = new WorkQueue(BACKOFF);
    const keys = Array.from({ length: 5_000 }, (_, n) => `k${n}`);
    for (const key of keys) queue.add(key);
    const taken: (string | undefined)[] = [];
    while (queue.depth > 0) taken.push(await queue.take());
    expect(taken).toEqual(keys);
  });

  test('when shut down, sends those away who wait or come, and takes nothing in', async () => {
    const queue = new WorkQueue(BACKOFF);
    const waiting = queue.take();
    queue.shutDown();
    queue.add('a');
    queue.addAfter('b', 0);
    expect(await waiting).toBeUndefined();
    expect(await queue.take()).toBeUndefined();
    expect(queue.depth).toBe(0);
  });

  test('when shut down, does not bring back what was added during its work', async () => {
    const queue = new WorkQueue(BACKOFF);
    queue.add('a');
    await queue.take();
    queue.add('a');
    queue.shutDown();
    queue.done('a');
    expect(queue.depth).toBe(0);
  });

  test('tells what was demanded from what was only hinted at', async () => {
    const queue = new WorkQueue(BACKOFF);
    queue.hint('a');
    queue.hint('b');
    queue.add('b');
    queue.add('c');
    queue.hint('c');
    for (const [key, demanded] of [
      ['a', false],
      ['b', true],
      ['c', true],
    ] as const) {
      expect(await queue.take()).toBe(key);
      expect(queue.takeDemand(key)).toBe(demanded);
      expect(queue.takeDemand(key)).toBe(false);
    }
  });

  test('reports what happens to its observer', async () => {
    const seen: string[] = [];
    const queue = new WorkQueue(BACKOFF, {
      added: () => seen.push('added'),
      taken: () => seen.push('taken'),
      finished: () => seen.push('finished'),
      retried: () => seen.push('retried'),
    });
    queue.add('a');
    queue.add('a');
    await queue.take();
    queue.addRateLimited('a');
    queue.done('a');
    queue.shutDown();
    expect(seen).toEqual(['added', 'taken', 'retried', 'finished']);
  });
});

describe('the timers of a work queue', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('bring a key when its time has come; the earliest of several counts', () => {
    const queue = new WorkQueue(BACKOFF);
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 5_000);
    queue.addAfter('a', 500);
    vi.advanceTimersByTime(499);
    expect(queue.depth).toBe(0);
    vi.advanceTimersByTime(1);
    expect(queue.depth).toBe(1);
    vi.advanceTimersByTime(10_000);
    expect(queue.depth).toBe(1);
  });

  test('bear more than setTimeout does', () => {
    const queue = new WorkQueue(BACKOFF);
    const days40 = 40 * 24 * 3_600_000;
    queue.addAfter('a', days40);
    vi.advanceTimersByTime(days40 - 1);
    expect(queue.depth).toBe(0);
    vi.advanceTimersByTime(1);
    expect(queue.depth).toBe(1);
  });

  test('grow with every failure, start over after a success, and are never sooner than asked for', () => {
    const queue = new WorkQueue(BACKOFF);
    const waits = (options?: Parameters<WorkQueue['addRateLimited']>[1]) => {
      queue.addRateLimited('a', options);
      const began = performance.now();
      while (queue.depth === 0) vi.advanceTimersToNextTimer();
      void queue.take();
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
    expect(queue.failures('a')).toBe(15);
    queue.forget('a');
    expect(queue.failures('a')).toBe(0);
    expect(waits({ quickFirst: true })).toBeLessThan(100);
    expect(waits({ quickFirst: true })).toSatisfy(within(1_000, 2_000));
  });

  test('end with what they were for', () => {
    const queue = new WorkQueue(BACKOFF);
    queue.addAfter('a', 1_000);
    queue.drop('a');
    queue.addAfter('b', 1_000);
    queue.shutDown();
    expect(vi.getTimerCount()).toBe(0);
  });
});
