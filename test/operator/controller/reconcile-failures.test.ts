/** Reconciles that fail: when they are retried, shown, logged and counted. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { Blocked, StaleObject } from '../../../src/operator/managed/declaration/external.ts';
import { startReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';
import { condition, object } from '../objects.ts';
import { done, OF_KIND, setUp } from './workers-under-test.ts';

describe('finding an object stale', () => {
  const four = ['stale', 'stale', 'stale', 'stale'];

  test.each<[string, string[], object]>([
    ['four times is no error', four, { requeue: 4 }],
    ['a fifth time is an error', [...four, 'stale'], { requeue: 4, error: 1 }],
    ['four times in each of two versions is no error', ['stale', 'stale', 'stale', 'changed', ...four], { requeue: 8 }],
    ['before and after a success is no error', [...four, 'done', ...four], { requeue: 8, requeue_after: 1 }],
    ['before and after its deletion is no error', ['stale', 'stale', 'stale', 'deleted', 'stale'], { requeue: 5 }],
  ])('%s', async (_, steps, expected) => {
    let times = 0;
    const { store, queue, workers, shown, results } = setUp(async (of) => {
      const step = steps[times++];
      if (step === undefined) return new Promise(() => {});
      if (step === 'done') return { object: of, requeueAfterMs: 1 };
      if (step === 'changed') store.put(object({ version: 2 }));
      if (step === 'deleted') workers.onChange({ type: 'deleted', key: 'ns/a', object: of });
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
    expect(shown).toHaveLength('error' in expected ? 1 : 0);
  });
});

describe('a failure', () => {
  test('that only a change can fix is shown at once, and is one warning however often it is repeated', async () => {
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
    // The status that shows the failure is our own write.
    expect(settled.covers(object({ version: 9 }))).toBe(true);
  });

  test.each([
    ['also after the finalizer was written', { version: 2 }, 2],
    ['but not on another object of its name', { version: 2, uid: 'other' }, 1],
    ['but not on another spec', { version: 2, metadata: { generation: 2 } }, 1],
  ])('that may pass is shown at once while the object says nothing, %s', async (_, written, expected) => {
    let times = 0;
    const { store, queue, workers, shown, results } = setUp(async (of) => {
      if (++times > 2) return { object: of };
      store.put(object(written));
      throw new Error('down');
    });
    workers.start();
    queue.add('ns/a');
    await waitFor('the success', async () => (await results('success')) === 1);
    expect(shown).toHaveLength(expected);
  });

  test('that may pass is shown only the third time, and is forgotten after a success', async () => {
    let times = 0;
    const { store, queue, workers, shown, results, metric } = setUp(async (of) => {
      if (++times <= 3) throw new Error('down');
      return { object: of };
    });
    store.put(object({ version: 2, status: { conditions: [condition('Ready', 'True')] } }));
    // The counters start at 0, so that Prometheus sees the first failure as an increase.
    const errors = () => metric('controller_runtime_reconcile_errors_total', OF_KIND);
    const terminal = () => metric('controller_runtime_terminal_reconcile_errors_total', OF_KIND);
    expect([await errors(), await terminal()]).toEqual([0, 0]);
    workers.start();
    queue.add('ns/a');
    await waitFor('the success', async () => (await results('success')) === 1);
    expect(shown.map(({ keepReady }) => keepReady)).toEqual([true]);
    expect([await errors(), await terminal(), await results('error'), queue.failures('ns/a')]).toEqual([3, 0, 3, 0]);
  });
});

test('the span of a failed reconcile has the reason but no message, and its retry is a trace of its own', async () => {
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
