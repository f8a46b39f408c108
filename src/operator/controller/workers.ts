/**
 * Workers take keys from the queue, reconcile the objects, and act on the outcome: requeue, metrics, log, conditions.
 */
import type { Logger } from 'pino';
import { type Span, type Tracing, traced } from '../../tracing/tracing.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { ChangeHandler, ObjectChange, ObjectStore } from '../kube/object-store.ts';
import type { SpecTerms } from '../managed/declaration/spec-terms.ts';
import { isPending } from '../managed/identity/recorded-status.ts';
import { classify, type Failure } from '../managed/object/failure.ts';
import type { ShownFailure } from '../managed/object/status.ts';
import type { ManagedReconciler } from '../managed/reconciler.ts';
import { reactionTo } from './failure-policy.ts';
import type { ControllerMetrics } from './metrics.ts';
import type { SettledVersions } from './settled-versions.ts';
import type { WorkQueue } from './work-queue.ts';

export interface WorkersOptions {
  /** The label `controller` of the metrics. */
  name: string;
  /** For the metric. */
  concurrency: number;
  /** Reconciles in progress at a time, if more than `concurrency`, which then counts for each share of the queue. */
  most?: number;
  queue: WorkQueue;
  store: ObjectStore;
  settled: SettledVersions;
  /** Whether this process reconciles the object; an object may be handed over to another shard at any time. */
  isOurs(object: KubeObject): boolean;
  /** Puts failures into the terms of the object. */
  termsOf(object: KubeObject): SpecTerms;
  reconciler: Pick<ManagedReconciler, 'reconcile' | 'recordFailure'>;
  metrics: ControllerMetrics;
  tracing?: Tracing | undefined;
  log: Logger;
}

export class Workers implements ChangeHandler {
  readonly #options: WorkersOptions;
  /** The last logged failure of each key: repeats are logged at debug level. */
  readonly #logged = new Map<string, string>();
  /** How often in a row each key's version was stale. */
  readonly #stale = new Map<string, { version: string; times: number }>();
  #running: Promise<void>[] = [];

  constructor(options: WorkersOptions) {
    this.#options = options;
    const { metrics, name: controller, concurrency } = options;
    metrics.maxConcurrent.set({ controller }, concurrency);
    // Starts at 0, as in controller-runtime: Prometheus sees no increase in a counter that begins with 1.
    metrics.reconcileErrors.inc({ controller }, 0);
    metrics.terminalErrors.inc({ controller }, 0);
  }

  start(): void {
    const { concurrency, most = concurrency } = this.#options;
    for (let worker = 0; worker < most; worker++) this.#running.push(this.#run());
  }

  /** Resolves when the reconciles in progress have finished; shut the queue down first. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Drops everything about an object that was deleted, or handed over to another process. */
  onChange(change: ObjectChange): void {
    if (change.type === 'deleted' || !this.#options.isOurs(change.object)) this.#forget(change.key);
  }

  async #run(): Promise<void> {
    const { queue, store, isOurs } = this.#options;
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      const object = store.get(key);
      if (object && isOurs(object)) await this.#reconcile(key, object);
      // It may have been deleted or handed over during the reconcile.
      const current = store.get(key);
      if (!current || !isOurs(current)) this.#forget(key);
      queue.done(key);
    }
  }

  #reconcile(key: string, object: KubeObject): Promise<void> {
    const { name, tracing } = this.#options;
    const attributes = {
      'k8s.namespace.name': object.metadata.namespace,
      'tunnel_operator.kind': name,
      'tunnel_operator.name': object.metadata.name,
      'tunnel_operator.generation': object.metadata.generation,
    };
    return traced(tracing, { name: `reconcile ${name}`, attributes }, (span) => this.#measure(key, object, span));
  }

  async #measure(key: string, object: KubeObject, span: Span | undefined): Promise<void> {
    const { metrics, name: controller, log } = this.#options;
    const timer = metrics.reconcileTime.startTimer({ controller });
    metrics.activeWorkers.inc({ controller });
    let result = 'error';
    try {
      result = await this.#attempt(key, object, span);
    } finally {
      timer();
      metrics.activeWorkers.dec({ controller });
      metrics.reconcileTotal.inc({ controller, result });
      span?.set({ 'tunnel_operator.result': result });
      log.debug({ kind: controller, object: key, result }, 'reconciled');
    }
  }

  async #attempt(
    key: string,
    object: KubeObject,
    span: Span | undefined,
  ): Promise<'success' | 'requeue_after' | 'requeue' | 'error'> {
    const { queue, reconciler, settled } = this.#options;
    try {
      const outcome = await reconciler.reconcile(object);
      settled.set(outcome.object);
      queue.forget(key);
      this.#logged.delete(key);
      this.#stale.delete(key);
      if (outcome.requeueAfterMs === undefined) return 'success';
      queue.addAfter(key, outcome.requeueAfterMs);
      return 'requeue_after';
    } catch (error) {
      return this.#failed(key, object, error, span);
    }
  }

  async #failed(key: string, object: KubeObject, error: unknown, span: Span | undefined): Promise<'requeue' | 'error'> {
    const { queue, settled } = this.#options;
    settled.delete(key);
    const failure = classify(error, this.#options.termsOf(object));
    const stale = this.#countStale(key, object, failure);
    const attempts = { failures: queue.failures(key) + 1, stale, isPending: isPending(object) };
    const { retry, isError, show } = reactionTo(failure, attempts);
    queue.addRateLimited(key, retry);
    if (!isError) return 'requeue';
    this.#report(key, failure, error);
    span?.fail(failure.reason);
    if (show) await this.#show(key, object, show);
    return 'error';
  }

  /** Consecutive failures that called this same version of the object stale. */
  #countStale(key: string, { metadata }: KubeObject, { kind }: Failure): number {
    const version = metadata.resourceVersion;
    const known = this.#stale.get(key);
    if (kind !== 'stale') {
      this.#stale.delete(key);
      return 0;
    }
    const times = known?.version === version ? known.times + 1 : 1;
    this.#stale.set(key, { version, times });
    return times;
  }

  #report(key: string, failure: Failure, err: unknown): void {
    const { metrics, name, log } = this.#options;
    const level = this.#logged.get(key) === failure.message ? 'debug' : 'warn';
    this.#logged.set(key, failure.message);
    log[level]({ kind: name, object: key, reason: failure.reason, err }, failure.message);
    metrics.reconcileErrors.inc({ controller: name });
    if (failure.kind === 'terminal') metrics.terminalErrors.inc({ controller: name });
  }

  async #show(key: string, object: KubeObject, failure: ShownFailure): Promise<void> {
    const { store, reconciler, settled, log } = this.#options;
    const newest = store.get(key);
    if (!newest || !concerns(failure, object, newest)) return;
    try {
      settled.set(await reconciler.recordFailure(newest, failure));
    } catch (err) {
      log.debug({ err, object: key }, 'could not record the failure in the status yet');
    }
  }

  #forget(key: string): void {
    const { queue, settled } = this.#options;
    settled.delete(key);
    this.#logged.delete(key);
    this.#stale.delete(key);
    queue.drop(key);
  }
}

/**
 * Whether a failure concerns the newest version too. Another version has not failed yet; it is in the queue, or will be
 * reconciled after the backoff. But a reconcile that fails to reach the API has often written the finalizer before.
 */
function concerns(
  { keepReady: isTransient }: ShownFailure,
  { metadata: failed }: KubeObject,
  newest: KubeObject,
): boolean {
  const { uid, generation, resourceVersion } = newest.metadata;
  if (resourceVersion === failed.resourceVersion) return true;
  return isTransient && uid === failed.uid && generation === failed.generation;
}
