/** Metrics under the names that dashboards for controller-runtime and client-go read, and those of our own. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { QueueObserver, WorkQueue } from './work-queue.ts';

const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: L[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });

  return {
    registry,
    reconcileTotal: counter('controller_runtime_reconcile_total', 'Reconciles by outcome.', ['controller', 'result']),
    reconcileErrors: counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed.', ['controller']),
    terminalErrors: counter(
      'controller_runtime_terminal_reconcile_errors_total',
      'Reconciles that failed in a way that only a change of the object can mend.',
      ['controller'],
    ),
    reconcileTime: histogram(
      'controller_runtime_reconcile_time_seconds',
      'Length of time per reconcile.',
      ['controller'],
      RECONCILE_BUCKETS,
    ),
    maxConcurrent: gauge('controller_runtime_max_concurrent_reconciles', 'Most reconciles at a time.', ['controller']),
    activeWorkers: gauge('controller_runtime_active_workers', 'Reconciles under way.', ['controller']),
    queueDepth: gauge('workqueue_depth', 'Keys that wait in the queue.', ['name', 'controller']),
    queueAdds: counter('workqueue_adds_total', 'Keys added to the queue.', ['name', 'controller']),
    queueRetries: counter('workqueue_retries_total', 'Keys added after a failure.', ['name', 'controller']),
    queueWait: histogram(
      'workqueue_queue_duration_seconds',
      'How long a key waits before it is taken.',
      ['name', 'controller'],
      QUEUE_BUCKETS,
    ),
    queueWork: histogram(
      'workqueue_work_duration_seconds',
      'How long a key is worked on.',
      ['name', 'controller'],
      QUEUE_BUCKETS,
    ),
    queueUnfinished: gauge('workqueue_unfinished_work_seconds', 'Seconds of work under way, summed over workers.', [
      'name',
      'controller',
    ]),
    queueLongest: gauge(
      'workqueue_longest_running_processor_seconds',
      'Seconds that the longest running worker has been at it.',
      ['name', 'controller'],
    ),
    kubeRequests: counter('rest_client_requests_total', 'Requests to the Kubernetes API.', ['code', 'method', 'host']),
    kubeRequestTime: histogram(
      'rest_client_request_duration_seconds',
      'Latency of requests to the Kubernetes API.',
      ['verb', 'host'],
      REQUEST_BUCKETS,
    ),
    leader: gauge('leader_election_master_status', 'Whether this process is the leader (1) or waits (0).', ['name']),
    apiRequests: counter('tunnel_operator_api_requests_total', 'Requests to the management API.', ['method', 'code']),
    apiRequestTime: histogram(
      'tunnel_operator_api_request_duration_seconds',
      'Latency of requests to the management API.',
      ['method'],
      REQUEST_BUCKETS,
    ),
    driftFound: counter('tunnel_operator_drift_corrected_total', 'Remote changes that were undone.', ['kind']),
    resyncs: counter('tunnel_operator_resyncs_total', 'Comparisons with the API, by outcome.', ['kind', 'result']),
    managed: gauge('tunnel_operator_managed_objects', 'Objects in the watch cache.', ['kind']),
    watchActivity: counter('tunnel_operator_watch_total', 'Lists and watches begun, failed and found silent.', [
      'resource',
      'activity',
    ]),
    watchStaleness: gauge('tunnel_operator_watch_staleness_seconds', 'Seconds since the watch last heard anything.', [
      'resource',
    ]),
    eventsDropped: counter('tunnel_operator_kube_events_dropped_total', 'Kubernetes Events that were not sent.', [
      'reason',
    ]),
    credentialsIssued: counter('tunnel_operator_credentials_issued_total', 'Tokens issued, by cause.', ['cause']),
  };
}

/** Feeds the workqueue metrics of one controller. */
export function queueObserver(metrics: Metrics, name: string): QueueObserver {
  const labels = { name, controller: name };
  return {
    added: () => metrics.queueAdds.inc(labels),
    retried: () => metrics.queueRetries.inc(labels),
    handedOut: (seconds) => metrics.queueWait.observe(labels, seconds),
    done: (seconds) => metrics.queueWork.observe(labels, seconds),
  };
}

/** Reads the gauges of a queue; to be called when metrics are scraped. */
export function readQueue(metrics: Metrics, name: string, queue: WorkQueue): void {
  const labels = { name, controller: name };
  const now = performance.now();
  const ages = [...queue.processingSince()].map((started) => (now - started) / 1000);
  metrics.queueDepth.set(labels, queue.depth);
  metrics.queueUnfinished.set(
    labels,
    ages.reduce((sum, age) => sum + age, 0),
  );
  metrics.queueLongest.set(labels, Math.max(0, ...ages));
}
