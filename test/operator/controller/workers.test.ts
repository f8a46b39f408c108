import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { object } from '../objects.ts';
import { done, OF_KIND, setUp } from './workers-under-test.ts';

describe('an object of another process', () => {
  const isOurs = ({ metadata }: KubeObject) => metadata.labels?.mine === 'yes';
  const ours = (version: number, mine: 'yes' | 'no') => object({ version, metadata: { labels: { mine } } });

  test('is left alone, even if its key is in the queue', async () => {
    const seen: (string | undefined)[] = [];
    const reconcile = (of: KubeObject) => {
      seen.push(of.metadata.resourceVersion);
      return done(of);
    };
    const { store, queue, workers, results } = setUp(reconcile, { isOurs });
    workers.start();
    queue.add('ns/a');
    await waitFor('the key to be taken', () => queue.depth === 0 && [...queue.processingSince()].length === 0);
    store.put(ours(2, 'yes'));
    queue.add('ns/a');
    await waitFor('the reconcile', async () => (await results('success')) === 1);
    expect(seen).toEqual(['2']);
  });

  test('is forgotten with its retries when it is handed over, and starts afresh when it comes back', async () => {
    const { store, queue, workers, settled } = setUp((of) => done(of), { isOurs });
    for (const change of store.put(ours(2, 'yes'))) workers.onChange(change);
    settled.set(ours(2, 'yes'));
    queue.addRateLimited('ns/a', { atLeastMs: 60_000 });
    for (const change of store.put(ours(3, 'no'))) workers.onChange(change);
    expect([settled.covers(ours(2, 'yes')), queue.failures('ns/a')]).toEqual([false, 0]);
  });
});

describe('a reconcile', () => {
  test('that succeeds settles the version that it leaves', async () => {
    const { queue, workers, settled, results, metric } = setUp(() => done(object({ version: 3 })));
    workers.start();
    queue.add('ns/a');
    await waitFor('the reconcile', async () => (await results('success')) === 1);
    expect(settled.covers(object({ version: 3 }))).toBe(true);
    expect(settled.covers(object({ version: 4 }))).toBe(false);
    expect(await metric('controller_runtime_active_workers', OF_KIND)).toBe(0);
    expect(await metric('controller_runtime_reconcile_time_seconds_count', OF_KIND)).toBe(1);
    queue.shutDown();
    await workers.stopped();
  });

  test('may ask for another one later', async () => {
    let times = 0;
    const { queue, workers, results } = setUp(async (of) => {
      times++;
      return times === 1 ? { object: of, requeueAfterMs: 1 } : { object: of };
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('the second reconcile', async () => (await results('success')) === 1);
    expect(await results('requeue_after')).toBe(1);
  });
});

describe('workers', () => {
  test('reconcile one object each at a time, and take no further one once the queue is shut down', async () => {
    const held = Promise.withResolvers<void>();
    const began: string[] = [];
    const { store, queue, workers, metric } = setUp(
      async (of) => {
        began.push(of.metadata.name);
        await held.promise;
        return { object: of };
      },
      { concurrency: 2 },
    );
    for (const name of ['b', 'c']) store.put(object({ name }));
    workers.start();
    for (const name of ['a', 'b', 'c']) queue.add(`ns/${name}`);
    await waitFor('two reconciles', () => began.length === 2);
    expect([began, queue.depth]).toEqual([['a', 'b'], 1]);
    expect(await metric('controller_runtime_active_workers', OF_KIND)).toBe(2);
    expect(await metric('controller_runtime_max_concurrent_reconciles', OF_KIND)).toBe(2);

    queue.shutDown();
    const stopped = workers.stopped();
    expect(await Promise.race([stopped, turn('not yet')])).toBe('not yet');
    held.resolve();
    await stopped;
    expect(began).toEqual(['a', 'b']);
  });

  test('leave a deleted object alone, and forget it', async () => {
    const { store, queue, workers, settled, results } = setUp(async (of) => {
      store.remove(of);
      throw new Error('down');
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('the failure', async () => (await results('error')) === 1);
    await waitFor('the object to be forgotten', () => queue.failures('ns/a') === 0);
    queue.add('ns/a');
    await waitFor('the queue to be empty', () => queue.depth === 0);
    expect([await results('error'), settled.covers(object())]).toEqual([1, false]);
  });
});
