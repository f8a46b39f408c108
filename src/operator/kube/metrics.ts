/** The metrics of a Kubernetes client: calls, watches and Events, under client-go's names where it has them. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export type KubeMetrics = ReturnType<typeof createKubeMetrics>;

/** @param prefix of the metrics for which client-go has no name */
export function createKubeMetrics(registry: Registry, prefix: string) {
  const registers = [registry];
  return {
    requests: new Counter({
      name: 'rest_client_requests_total',
      help: 'Requests to the Kubernetes API.',
      labelNames: ['code', 'method', 'host'],
      registers,
    }),
    requestTime: new Histogram({
      name: 'rest_client_request_duration_seconds',
      help: 'Latency of requests to the Kubernetes API.',
      labelNames: ['verb', 'host'],
      buckets: REQUEST_BUCKETS,
      registers,
    }),
    leader: new Gauge({
      name: 'leader_election_master_status',
      help: '1 if this process is the leader, 0 if it is standing by.',
      labelNames: ['name'],
      registers,
    }),
    watchActivity: new Counter({
      name: `${prefix}_watch_total`,
      help: 'Lists and watches that were started, failed or went silent.',
      labelNames: ['resource', 'activity'],
      registers,
    }),
    watchStaleness: new Gauge({
      name: `${prefix}_watch_staleness_seconds`,
      help: 'Seconds since the watch last received anything; a live one does every few minutes.',
      labelNames: ['resource'],
      registers,
    }),
    watchForbidden: new Gauge({
      name: `${prefix}_watch_forbidden`,
      help: '1 if the right to list or watch the resource is missing, else 0.',
      labelNames: ['resource'],
      registers,
    }),
    namespaceMissing: new Gauge({
      name: `${prefix}_watched_namespace_missing`,
      help: '1 for a watched namespace that does not exist, or is being deleted and may not be listed; 0 once it is listed again.',
      labelNames: ['namespace'],
      registers,
    }),
    eventsDropped: new Counter({
      name: `${prefix}_kube_events_dropped_total`,
      help: 'Kubernetes Events that were not sent.',
      labelNames: ['reason'],
      registers,
    }),
  };
}
