/** The operator's metrics in one registry: those of each folder, and those of calls to the management API. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { collectProcessMetrics, showBuild } from '../process-metrics.ts';
import { createControllerMetrics } from './controller/metrics.ts';
import { createKubeMetrics } from './kube/metrics.ts';
import { createManagedMetrics } from './managed/object/metrics.ts';

const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The default of prom-client, 10 ms, is 6,000 wake-ups a minute: most of the work of an idle operator. */
const LAG_SAMPLE_MS = 100;

export type OperatorMetrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectProcessMetrics(registry, { eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
  showBuild(registry, 'tunnel_operator');
  return {
    registry,
    kube: createKubeMetrics(registry, 'tunnel_operator'),
    managed: createManagedMetrics(registry),
    controller: createControllerMetrics(registry),
    apiRequests: new Counter({
      name: 'tunnel_operator_api_requests_total',
      help: 'Requests to the management API.',
      labelNames: ['method', 'code'],
      registers,
    }),
    apiRequestTime: new Histogram({
      name: 'tunnel_operator_api_request_duration_seconds',
      help: 'Latency of requests to the management API.',
      labelNames: ['method'],
      buckets: REQUEST_BUCKETS,
      registers,
    }),
    connectionRequests: new Counter({
      name: 'tunnel_operator_connection_requests_total',
      help: 'Requests to the management API through an APIConnection, a ClusterAPIConnection or an Account.',
      labelNames: ['connection', 'code'],
      registers,
    }),
    apiOwnerRefused: new Gauge({
      name: 'tunnel_operator_api_owner_refused',
      help: '1 while this process does nothing because its API key belongs to another owner than before.',
      registers,
    }),
  };
}

/** Removes the series of a connection that is gone: users of the cluster choose their names, so they could be any number. */
export async function forgetConnection({ connectionRequests }: OperatorMetrics, connection: string): Promise<void> {
  for (const { labels } of (await connectionRequests.get()).values)
    if (labels.connection === connection) connectionRequests.remove(labels);
}
