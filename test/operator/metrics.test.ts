import { expect, test } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { createMetrics } from '../../src/operator/metrics.ts';

test('the event loop is sampled seldom: an idle operator wakes up for nothing else', async () => {
  const { registry } = createMetrics();
  let shortest = 0;
  const read = async () => {
    const line = (await registry.metrics())
      .split('\n')
      .find((each) => each.startsWith('nodejs_eventloop_lag_min_seconds'));
    shortest = Number(line?.split(' ').at(-1));
    // Before the first sample, it is the largest number that it can hold.
    return shortest > 0 && shortest < 60;
  };
  await waitFor('a sample', read, { intervalMs: 250 });
  expect(shortest).toBeGreaterThan(0.05);
});
