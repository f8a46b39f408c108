import { expect, test } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { createMetrics } from '../../src/operator/metrics.ts';

test('the metrics have the names and labels that dashboards expect', async () => {
  const { registry, managed, apiRequests, apiRequestTime, apiOwnerRefused } = createMetrics();
  managed.driftCorrected.inc({ kind: 'IPPolicy' });
  managed.credentialsIssued.inc({ kind: 'TunnelCredential', cause: 'lost' });
  apiRequests.inc({ method: 'GET', code: '200' });
  apiRequestTime.observe({ method: 'GET' }, 1);
  apiOwnerRefused.set(1);
  const isAsked = (line: string) =>
    /^tunnel_operator_(drift|credentials|api)_/.test(line) && !/_bucket|_sum/.test(line);
  expect((await registry.metrics()).split('\n').filter(isAsked)).toEqual([
    'tunnel_operator_drift_corrected_total{kind="IPPolicy"} 1',
    'tunnel_operator_credentials_issued_total{kind="TunnelCredential",cause="lost"} 1',
    'tunnel_operator_api_requests_total{method="GET",code="200"} 1',
    'tunnel_operator_api_request_duration_seconds_count{method="GET"} 1',
    'tunnel_operator_api_owner_refused 1',
  ]);
});

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
