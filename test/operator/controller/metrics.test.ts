import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createControllerMetrics, queueObserver, readQueue } from '../../../src/operator/controller/metrics.ts';
import { WorkQueue } from '../../../src/operator/controller/work-queue.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('the metrics of a queue show how many keys wait, and how long its workers have been busy', async () => {
  const registry = new Registry();
  const metrics = createControllerMetrics(registry);
  const queue = new WorkQueue({ backoff: { firstMs: 1, longestMs: 1 }, observer: queueObserver(metrics, 'IPPolicy') });
  const shown = async (name: string) => {
    readQueue(metrics, 'IPPolicy', queue);
    const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`));
    return lines.map((line) => line.replace(`${name}{name="IPPolicy",controller="IPPolicy"} `, ''));
  };

  expect(await shown('workqueue_unfinished_work_seconds')).toEqual(['0']);
  expect(await shown('workqueue_longest_running_processor_seconds')).toEqual(['0']);

  for (const key of ['a', 'b', 'c']) queue.add(key);
  await queue.get();
  vi.advanceTimersByTime(2_000);
  await queue.get();
  vi.advanceTimersByTime(500);
  expect(await shown('workqueue_depth')).toEqual(['1']);
  expect(await shown('workqueue_adds_total')).toEqual(['3']);
  expect(await shown('workqueue_unfinished_work_seconds')).toEqual(['3']);
  expect(await shown('workqueue_longest_running_processor_seconds')).toEqual(['2.5']);
  expect(await shown('workqueue_queue_duration_seconds_sum')).toEqual(['2']);

  queue.addRateLimited('a');
  expect(await shown('workqueue_retries_total')).toEqual(['1']);
  queue.done('a');
  expect(await shown('workqueue_work_duration_seconds_sum')).toEqual(['2.5']);
  expect(await shown('workqueue_longest_running_processor_seconds')).toEqual(['0.5']);
  queue.shutDown();
});
