import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { StaleObject } from '../../../src/operator/managed/declaration/external.ts';
import { object } from '../objects.ts';
import { done, OF_KIND, setUp } from './workers-under-test.ts';

describe('an object of another process', () => {
  const isOurs = ({ metadata }: KubeObject) => metadata.labels?.mine === 'yes';
  const ours = (version: number, mine: 'yes' | 'no') => object({ version, metadata: { labels: { mine } } });

  test('is left alone, however it came into the queue', async () => {
    const seen: (string | undefined)[] = [];
    const reconcile = (of: KubeObject) => {
      seen.push(of.metadata.resourceVersion);
      return done(of);
    };
    const { store, queue, workers, results } = setUp(reconcile, { isOurs });
    workers.start();
    queue.add('ns/a');
    await waitFor('the key is taken', () => queue.depth === 0 && [...queue.processingSince()].length === 0);
    store.put(ours(2, 'yes'));
    queue.add('ns/a');
    await waitFor('the reconcile', async () => (await results('success')) === 1);
    expect(seen).toEqual(['2']);
  });

  test('is forgotten when it is handed over: what is planned is dropped, and it starts afresh when it comes back', async () => {
    const { store, queue, workers, settled } = setUp((of) => done(of), { isOurs });
    for (const change of store.put(ours(2, 'yes'))) workers.onChange(change);
    settled.set(ours(2, 'yes'));
    queue.addRateLimited('ns/a', { atLeastMs: 60_000 });
    for (const change of store.put(ours(3, 'no'))) workers.onChange(change);
    expect([settled.covers(ours(2, 'yes')), queue.failures('ns/a')]).toEqual([false, 0]);
  });

  test('is forgotten, too, when it was handed over during its reconcile', async () => {
    const gate = Promise.withResolvers<void>();
    const reconcile = (of: KubeObject) => gate.promise.then(() => ({ object: of, requeueAfterMs: 60_000 }));
    const { store, queue, workers, settled } = setUp(reconcile, { isOurs });
    store.put(ours(2, 'yes'));
    workers.start();
    queue.add('ns/a');
    await waitFor('the reconcile begins', () => [...queue.processingSince()].length === 1);
    for (const change of store.put(ours(3, 'no'))) workers.onChange(change);
    gate.resolve();
    await waitFor('it has ended', () => [...queue.processingSince()].length === 0);
    expect(settled.covers(ours(2, 'yes'))).toBe(false);
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
    await waitFor('the second', async () => (await results('success')) === 1);
    expect(await results('requeue_after')).toBe(1);
  });

  test('that failed is repeated, and forgotten once it succeeds', async () => {
    let times = 0;
    const { queue, workers, settled, results, metric } = setUp(async (of) => {
      if (++times < 3) throw new Error('down');
      return { object: of };
    });
    settled.set(object());
    workers.start();
    queue.add('ns/a');
    await waitFor('the success', async () => (await results('success')) === 1);
    expect(await results('error')).toBe(2);
    expect(queue.failures('ns/a')).toBe(0);
    expect(await metric('controller_runtime_reconcile_errors_total', OF_KIND)).toBe(2);
    expect(await metric('controller_runtime_terminal_reconcile_errors_total', OF_KIND)).toBe(0);
  });

  test('of a stale object is repeated, and is no error', async () => {
    let times = 0;
    const { queue, workers, results, levels } = setUp(async (of) => {
      if (++times === 1) throw new StaleObject('x');
      return { object: of };
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('the success', async () => (await results('success')) === 1);
    expect([await results('requeue'), await results('error'), levels()]).toEqual([1, undefined, []]);
  });
});

describe('workers', () => {
  test('work on as many objects at a time as they are many, and on one object one at a time', async () => {
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
    let haveStopped = false;
    const stopped = workers.stopped().then(() => {
      haveStopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(haveStopped).toBe(false);
    held.resolve();
    await stopped;
    expect(began).toEqual(['a', 'b']);
  });

  test('leave an object alone that is gone, and know nothing of it any more', async () => {
    const { store, queue, workers, settled, results } = setUp(async (of) => {
      store.remove(of);
      throw new Error('down');
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('the failure', async () => (await results('error')) === 1);
    await waitFor('the end of it', () => queue.failures('ns/a') === 0);
    queue.add('ns/a');
    await waitFor('the queue to be empty', () => queue.depth === 0);
    expect([await results('error'), settled.covers(object())]).toEqual([1, false]);
  });

  test('forget what is deleted, and nothing that changes', () => {
    const { workers, queue, settled } = setUp(done);
    const change = { key: 'ns/a', object: object() };
    settled.set(object());
    queue.addRateLimited('ns/a');
    workers.onChange({ type: 'updated', ...change, previous: object() });
    expect([settled.covers(object()), queue.failures('ns/a')]).toEqual([true, 1]);
    workers.onChange({ type: 'deleted', ...change });
    expect([settled.covers(object()), queue.failures('ns/a')]).toEqual([false, 0]);
  });
});
