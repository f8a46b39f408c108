/** The metrics of controllers, under the names that dashboards for controller-runtime and client-go expect. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { QueueObserver, WorkQueue } from './work-queue.ts';

const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];

export type ControllerMetrics = ReturnType<typeof createControllerMetrics>;

export function createControllerMetrics(registry: Registry) {
  const registers = [registry];

  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: L[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });

  return {
    reconcileTotal: counter('controller_runtime_reconcile_total', 'Reconciles, by result.', ['controller', 'result']),
    reconcileErrors: counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed.', ['controller']),
    terminalErrors: counter(
      'controller_runtime_terminal_reconcile_errors_total',
      'Reconciles that failed with an error that retrying cannot fix.',
      ['controller'],
    ),
    reconcileTime: histogram(
      'controller_runtime_reconcile_time_seconds',
      'Duration of a reconcile.',
      ['controller'],
      RECONCILE_BUCKETS,
    ),
    maxConcurrent: gauge('controller_runtime_max_concurrent_reconciles', 'Maximum number of concurrent reconciles.', [
      'controller',
    ]),
    activeWorkers: gauge('controller_runtime_active_workers', 'Reconciles in progress.', ['controller']),
    queueDepth: gauge('workqueue_depth', 'Keys waiting in the queue.', ['name', 'controller']),
    queueAdds: counter('workqueue_adds_total', 'Keys added to the queue.', ['name', 'controller']),
    queueRetries: counter('workqueue_retries_total', 'Keys added after a failure.', ['name', 'controller']),
    queueWait: histogram(
      'workqueue_queue_duration_seconds',
      'How long a key waits for a worker.',
      ['name', 'controller'],
      QUEUE_BUCKETS,
    ),
    queueWork: histogram(
      'workqueue_work_duration_seconds',
      'How long processing a key takes.',
      ['name', 'controller'],
      QUEUE_BUCKETS,
    ),
    queueUnfinished: gauge('workqueue_unfinished_work_seconds', 'Seconds of work in progress, summed over workers.', [
      'name',
      'controller',
    ]),
    queueLongest: gauge(
      'workqueue_longest_running_processor_seconds',
      'Seconds that the longest-running worker has been busy.',
      ['name', 'controller'],
    ),
    resyncs: counter('tunnel_operator_resyncs_total', 'Comparisons with the management API, by result.', [
      'kind',
      'result',
    ]),
    crdMissing: gauge('tunnel_operator_crd_missing', '1 if the cluster lacks the CustomResourceDefinition, else 0.', [
      'kind',
    ]),
    notReady: gauge(
      'tunnel_operator_not_ready_objects',
      'Objects, other than paused ones, whose condition Ready is not True, by its reason.',
      ['kind', 'reason'],
    ),
    longestNotReady: gauge(
      'tunnel_operator_longest_not_ready_seconds',
      'How long, in seconds, the longest-unready object has been unready; 0 if all are Ready.',
      ['kind'],
    ),
    paused: gauge('tunnel_operator_paused_objects', 'Objects that are paused by an annotation.', ['kind']),
    longestPaused: gauge(
      'tunnel_operator_longest_paused_seconds',
      'How long, in seconds, the object that was paused first has been paused; 0 if none is.',
      ['kind'],
    ),
    nextExpiration: gauge(
      'tunnel_operator_next_expiration_timestamp_seconds',
      'When the next object expires, in seconds since 1970; absent if none will.',
      ['kind'],
    ),
    expiring: gauge('tunnel_operator_expiring_objects', 'Objects that expire within 7 or 30 days (7d, 30d).', [
      'kind',
      'within',
    ]),
    expired: gauge('tunnel_operator_expired_objects', 'Objects that have expired.', ['kind']),
    managed: gauge('tunnel_operator_managed_objects', 'Objects that this operator works on.', ['kind']),
  };
}

/** Feeds the workqueue metrics of one controller. */
export function queueObserver(metrics: ControllerMetrics, name: string): QueueObserver {
  const labels = { name, controller: name };
  return {
    added: () => metrics.queueAdds.inc(labels),
    retried: () => metrics.queueRetries.inc(labels),
    handedOut: (seconds) => metrics.queueWait.observe(labels, seconds),
    done: (seconds) => metrics.queueWork.observe(labels, seconds),
  };
}

/** Reads the gauges of a queue; call it when metrics are scraped. */
export function readQueue(metrics: ControllerMetrics, name: string, queue: WorkQueue): void {
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
