import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { createControllerMetrics } from '../../../src/operator/controller/metrics.ts';
import { SettledVersions } from '../../../src/operator/controller/settled-versions.ts';
import { WorkQueue } from '../../../src/operator/controller/work-queue.ts';
import { Workers, type WorkersOptions } from '../../../src/operator/controller/workers.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { Blocked, StaleObject } from '../../../src/operator/managed/external.ts';
import { NO_TERMS } from '../../../src/operator/managed/spec-terms.ts';
import type { ShownFailure } from '../../../src/operator/managed/status.ts';
import type { Tracing } from '../../../src/tracing/tracing.ts';
import { startReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';
import { object } from '../objects.ts';

type Reconcile = WorkersOptions['reconciler']['reconcile'];

const queues: WorkQueue[] = [];
afterEach(() => {
  for (const queue of queues.splice(0)) queue.shutDown();
});

/** Workers whose reconcile is `reconcile`, for the object `ns/a`. */
function setUp(
  reconcile: Reconcile,
  concurrency = 1,
  written = Promise.resolve(),
  isOurs: WorkersOptions['isOurs'] = () => true,
  tracing?: Tracing,
) {
  const store = new ObjectStore();
  const registry = new Registry();
  const settled = new SettledVersions();
  const queue = new WorkQueue({ backoff: { firstMs: 1, longestMs: 1 } });
  queues.push(queue);
  const shown: ShownFailure[] = [];
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(line) });
  const workers = new Workers({
    name: 'IPPolicy',
    concurrency,
    queue,
    store,
    settled,
    isOurs,
    termsOf: () => NO_TERMS,
    reconciler: {
      reconcile,
      async recordFailure(_, failure) {
        shown.push(failure);
        await written;
        return object({ version: 9 });
      },
    },
    metrics: createControllerMetrics(registry),
    tracing,
    log,
  });
  store.put(object());
  /** The value of a metric with exactly these labels. */
  const metric = async (name: string, labels: string) => {
    const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(`${name}{${labels}} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  const results = (result: string) =>
    metric('controller_runtime_reconcile_total', `controller="IPPolicy",result="${result}"`);
  return { store, settled, queue, workers, shown, metric, results, levels: () => lines.map(levelOf).filter(Boolean) };
}

const OF_KIND = 'controller="IPPolicy"';
/** Of lines about failures. */
const levelOf = (line: string) => {
  const { level, reason }: { level: number; reason?: string } = JSON.parse(line);
  return reason && { 20: 'debug', 40: 'warn' }[level];
};
const done = (of: KubeObject) => Promise.resolve({ object: of });

describe('an object of another process', () => {
  const isOurs = ({ metadata }: KubeObject) => metadata.labels?.mine === 'yes';
  const ours = (version: number, mine: 'yes' | 'no') => object({ version, metadata: { labels: { mine } } });

  test('is left alone, however it came into the queue', async () => {
    const seen: (string | undefined)[] = [];
    const reconcile = (of: KubeObject) => {
      seen.push(of.metadata.resourceVersion);
      return done(of);
    };
    const { store, queue, workers, results } = setUp(reconcile, 1, undefined, isOurs);
    workers.start();
    queue.add('ns/a');
    await waitFor('the key is taken', () => queue.depth === 0 && [...queue.processingSince()].length === 0);
    store.put(ours(2, 'yes'));
    queue.add('ns/a');
    await waitFor('the reconcile', async () => (await results('success')) === 1);
    expect(seen).toEqual(['2']);
  });

  test('is forgotten when it is handed over: what is planned is dropped, and it starts afresh when it comes back', async () => {
    const { store, queue, workers, settled } = setUp((of) => done(of), 1, undefined, isOurs);
    for (const change of store.put(ours(2, 'yes'))) workers.onChange(change);
    settled.set(ours(2, 'yes'));
    queue.addRateLimited('ns/a', { atLeastMs: 60_000 });
    for (const change of store.put(ours(3, 'no'))) workers.onChange(change);
    expect([settled.covers(ours(2, 'yes')), queue.failures('ns/a')]).toEqual([false, 0]);
  });

  test('is forgotten, too, when it was handed over during its reconcile', async () => {
    const gate = Promise.withResolvers<void>();
    const reconcile = (of: KubeObject) => gate.promise.then(() => ({ object: of, requeueAfterMs: 60_000 }));
    const { store, queue, workers, settled } = setUp(reconcile, 1, undefined, isOurs);
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

describe('an object that is called stale', () => {
  type Step = 'stale' | 'stale, and changed' | 'stale, and deleted' | 'done' | 'failed';
  const four: Step[] = ['stale', 'stale', 'stale', 'stale'];

  test.each<[string, Step[], object]>([
    ['four times', four, { requeue: 4 }],
    ['a fifth time', [...four, 'stale'], { requeue: 4, error: 1 }],
    ['in each of two versions', ['stale', 'stale', 'stale', 'stale, and changed', ...four], { requeue: 8 }],
    ['before and after a success', [...four, 'done', ...four], { requeue: 8, requeue_after: 1 }],
    ['before and after another failure', [...four, 'failed', ...four], { requeue: 8, error: 1 }],
    [
      'before and after it was deleted',
      ['stale', 'stale', 'stale', 'stale, and deleted', 'stale', 'stale', 'stale'],
      { requeue: 7 },
    ],
  ])('%s', async (_, steps, expected) => {
    let times = 0;
    const { store, queue, workers, shown, results } = setUp(async (of) => {
      const step = steps[times++];
      if (step === undefined) return new Promise(() => {});
      if (step === 'done') return { object: of, requeueAfterMs: 1 };
      if (step === 'failed') throw new Error('down');
      if (step === 'stale, and changed') store.put(object({ version: 2 }));
      if (step === 'stale, and deleted') workers.onChange({ type: 'deleted', key: 'ns/a', object: of });
      throw new StaleObject('x');
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('all steps', () => times > steps.length, { intervalMs: 5 });
    const found: Record<string, number> = {};
    for (const result of ['requeue', 'requeue_after', 'error']) {
      const count = await results(result);
      if (count !== undefined) found[result] = count;
    }
    expect(found).toEqual(expected);
    const isShown = steps.length > four.length && steps.every((step) => step === 'stale');
    expect(shown.some(({ reason }) => reason !== 'InternalError')).toBe(isShown);
  });
});

describe('a failure', () => {
  test('that only a change can help shows at once, and is one warning however often it repeats', async () => {
    let times = 0;
    const { queue, workers, settled, shown, metric, levels } = setUp(async () => {
      if (++times > 3) return new Promise(() => {});
      throw new Blocked('SecretConflict', 'taken');
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('a fourth attempt', () => times === 4);
    expect(shown).toEqual(Array(3).fill({ reason: 'SecretConflict', message: 'taken', keepReady: false }));
    expect(levels()).toEqual(['warn', 'debug', 'debug']);
    expect(await metric('controller_runtime_terminal_reconcile_errors_total', OF_KIND)).toBe(3);
    // The status that says so is our own write.
    expect(settled.covers(object({ version: 9 }))).toBe(true);
  });

  test('is a warning again after a success, and in an object that was deleted and made anew', async () => {
    let times = 0;
    const { queue, workers, results, levels } = setUp(async (of) => {
      if (++times !== 2) throw new Blocked('SecretConflict', 'taken');
      queue.addAfter('ns/a', 1);
      return { object: of };
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('a success, and a failure after it', async () => ((await results('error')) ?? 0) >= 2);
    expect(levels().slice(0, 2)).toEqual(['warn', 'warn']);
    workers.onChange({ type: 'deleted', key: 'ns/a', object: object() });
    const before = levels().length;
    queue.add('ns/a');
    await waitFor('another failure', () => levels().length > before);
    expect(levels()[before]).toBe('warn');
  });

  test('is written before the worker goes on', async () => {
    const held = Promise.withResolvers<void>();
    const began: string[] = [];
    const reconcile: Reconcile = async (of) => {
      began.push(of.metadata.name);
      if (of.metadata.name === 'a') throw new Blocked('SecretConflict', 'taken');
      return { object: of };
    };
    const { store, queue, workers, shown, results } = setUp(reconcile, 1, held.promise);
    store.put(object({ name: 'b' }));
    for (const name of ['a', 'b']) queue.add(`ns/${name}`);
    workers.start();
    await waitFor('the failure', () => shown.length === 1);
    expect(began).toEqual(['a']);
    held.resolve();
    await waitFor('the other', async () => (await results('success')) === 1);
  });

  test('that passes shows only at the third time', async () => {
    let times = 0;
    const { queue, workers, shown, results } = setUp(async (of) => {
      if (++times <= 3) throw new Error('down');
      return { object: of };
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('the success', async () => (await results('success')) === 1);
    expect(shown.map(({ keepReady }) => keepReady)).toEqual([true]);
  });

  test('of a version that is not the newest any more does not show', async () => {
    const { store, queue, workers, shown, results } = setUp(async (of) => {
      if (of.metadata.resourceVersion === '2') return { object: of };
      store.put(object({ version: 2 }));
      throw new Blocked('SecretConflict', 'taken');
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('the success', async () => (await results('success')) === 1);
    expect(shown).toEqual([]);
  });
});

describe('workers', () => {
  test('work on as many objects at a time as they are many, and on one object one at a time', async () => {
    const held = Promise.withResolvers<void>();
    const began: string[] = [];
    const { store, queue, workers, metric } = setUp(async (of) => {
      began.push(of.metadata.name);
      await held.promise;
      return { object: of };
    }, 2);
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

test('the span of a reconcile that fails has the reason, and no message; those of its retries are traces of their own', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const tracing = await tracingTo(receiver);
  let tries = 0;
  const reconcile = async (of: KubeObject) => {
    if (tries++ === 0) throw new Error('a secret');
    return done(of);
  };
  const { queue, workers, results } = setUp(reconcile, 1, undefined, undefined, tracing);
  workers.start();
  queue.add('ns/a');
  await waitFor('the retry', async () => (await results('success')) === 1);
  await tracing.stop();
  const [failed, retried] = receiver.spans;
  expect(failed).toMatchObject({
    name: 'reconcile IPPolicy',
    isError: true,
    attributes: { 'error.type': 'InternalError', 'tunnel_operator.result': 'error', 'k8s.namespace.name': 'ns' },
  });
  expect(retried).toMatchObject({ isError: false, attributes: { 'tunnel_operator.result': 'success' } });
  expect(retried?.traceId).not.toBe(failed?.traceId);
  expect(receiver.requests.some(({ body }) => body.includes('a secret'))).toBe(false);
});
