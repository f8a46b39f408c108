import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';

test('the metrics of a client have the names and labels that dashboards expect', async () => {
  const registry = new Registry();
  const metrics = createKubeMetrics(registry, 'ours');
  metrics.requests.inc({ code: '200', method: 'GET', host: 'h' });
  metrics.requestTime.observe({ verb: 'GET', host: 'h' }, 1);
  metrics.leader.set({ name: 'n' }, 1);
  metrics.watchActivity.inc({ resource: 'r', activity: 'list' });
  metrics.watchStaleness.set({ resource: 'r' }, 2);
  metrics.eventsDropped.inc({ reason: 'rate' });
  const lines = (await registry.metrics()).split('\n').filter((line) => !/^(#|$)|_bucket|_sum/.test(line));
  expect(lines).toEqual([
    'rest_client_requests_total{code="200",method="GET",host="h"} 1',
    'rest_client_request_duration_seconds_count{verb="GET",host="h"} 1',
    'leader_election_master_status{name="n"} 1',
    'ours_watch_total{resource="r",activity="list"} 1',
    'ours_watch_staleness_seconds{resource="r"} 2',
    'ours_kube_events_dropped_total{reason="rate"} 1',
  ]);
});
