/** What becomes of a reconcile that fails: when it is repeated, shown, logged and counted. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { Blocked, StaleObject } from '../../../src/operator/managed/declaration/external.ts';
import { startReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';
import { object } from '../objects.ts';
import { done, OF_KIND, type Reconcile, setUp } from './workers-under-test.ts';

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
    const { store, queue, workers, shown, results } = setUp(reconcile, { written: held.promise });
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

test('failures are counted from the start, so that the first is an increase', async () => {
  const { metric } = setUp(done);
  expect(await metric('controller_runtime_reconcile_errors_total', OF_KIND)).toBe(0);
  expect(await metric('controller_runtime_terminal_reconcile_errors_total', OF_KIND)).toBe(0);
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
  const { queue, workers, results } = setUp(reconcile, { tracing });
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
