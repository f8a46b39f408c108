/**
 * Runs the reconciles of one kind: what changed goes into the queue, workers take from it, failures come back later, and
 * a periodic comparison with the API finds what changed there.
 */
import type { Logger } from 'pino';
import { jittered } from '../../retry/backoff.ts';
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { isNewer, type KubeObject, keyOf } from '../kube/kube-object.ts';
import type { Change } from '../kube/object-store.ts';
import { slim, WatchCache } from '../kube/watch-cache.ts';
import { type Comparison, differs } from '../managed/drift.ts';
import type { Remote } from '../managed/external.ts';
import { classify } from '../managed/failure.ts';
import { claimOf, isOlder, readIdentity } from '../managed/identity.ts';
import type { ManagedReconciler } from '../managed/reconciler.ts';
import { looksSettled, type ManagedSpec, readStatus } from '../managed/spec.ts';
import { LONGEST_PAUSE_MS } from './api-budget.ts';
import { type Metrics, queueObserver, readQueue } from './metrics.ts';
import { WorkQueue } from './work-queue.ts';

export interface ControllerOptions {
  kind: string;
  type: ResourceType;
  kube: KubeApi;
  namespace: string | undefined;
  /** Most objects of this kind reconciled at a time. */
  concurrency: number;
  resyncMs: number;
  silenceMs: number;
  metrics: Metrics;
  log: Logger;
}

const BACKOFF = { firstMs: 1_000, longestMs: 60_000 };
/** Passing trouble shows in the status only when it lasts: a blip must not write ten thousand statuses. */
const FAILURES_UNTIL_SHOWN = 3;
/** After a comparison that failed, for example because the API was still starting when we did. */
const RETRY_RESYNC_MS = 15_000;

export class Controller<Spec extends ManagedSpec, R extends Remote> {
  readonly cache: WatchCache;
  readonly #o: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #reconciler: ManagedReconciler<Spec, R>;
  readonly #comparison: Comparison<Spec, R>;
  /** By key, the version that was reconciled last: an object that has not changed since needs no work. */
  readonly #settled = new Map<string, string>();
  readonly #claims = new Map<string, Set<string>>();
  /** By key, the failure that was logged last: its repeats are only of interest when debugging. */
  readonly #told = new Map<string, string>();
  #workers: Promise<void>[] = [];
  #resyncTimer: NodeJS.Timeout | undefined;
  #resync: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(
    options: ControllerOptions,
    comparison: Comparison<Spec, R>,
    makeReconciler: (controller: Pick<Controller<Spec, R>, 'cache' | 'rivalOf'>) => ManagedReconciler<Spec, R>,
  ) {
    this.#o = options;
    this.#comparison = comparison;
    const { kind, type, namespace, silenceMs, metrics, log } = options;
    this.#queue = new WorkQueue({
      backoff: BACKOFF,
      isNeeded: (key) => this.#needsWork(key),
      observer: queueObserver(metrics, kind),
    });
    this.cache = new WatchCache(options.kube, {
      type,
      namespace,
      silenceMs,
      log,
      transform: (object) => ({ ...slim(object), kind, apiVersion: `${type.group}/${type.version}` }),
      onChange: (change, origin) => this.#changed(change, origin),
      onActivity: (activity) => metrics.watchActivity.inc({ resource: type.plural, activity }),
    });
    this.#reconciler = makeReconciler(this);
    metrics.maxConcurrent.set({ controller: kind }, options.concurrency);
  }

  /** Starts the workers on what is in the cache, and the comparison with the API. The caches must be filled. */
  start(): void {
    for (const object of this.cache.store.values()) this.#enqueueAtStart(object);
    for (let worker = 0; worker < this.#o.concurrency; worker++) this.#workers.push(this.#work());
    this.#scheduleResync(0);
  }

  /** Takes nothing new; resolves when the reconciles under way are finished. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#resyncTimer);
    this.#queue.shutDown();
    await Promise.all([...this.#workers, this.#resync]);
  }

  /** Something that belongs to the object may have changed. */
  touch(key: string): void {
    if (this.cache.store.get(key)) this.#queue.addIfNeeded(key);
  }

  /** The object with more right to the id than `object`: among all that claim it, the oldest. */
  readonly rivalOf = (object: KubeObject, id: string): KubeObject | undefined => {
    for (const key of this.#claims.get(id) ?? []) {
      const other = this.cache.store.get(key);
      if (!other || other.metadata.uid === object.metadata.uid || !isOlder(other, object)) continue;
      // Any number may look on.
      if (this.#specOf(other)?.managementPolicy !== 'Observe') return other;
    }
    return undefined;
  };

  /** Sets the gauges that are read rather than counted. */
  readGauges(): void {
    const { metrics, kind, type } = this.#o;
    readQueue(metrics, kind, this.#queue);
    metrics.managed.set({ kind }, this.cache.store.size);
    metrics.watchStaleness.set({ resource: type.plural }, (this.cache.staleness() ?? 0) / 1000);
  }

  // What changed.

  #changed(change: Change, origin: 'watch' | 'own'): void {
    this.#indexClaims(change);
    if (change.type === 'deleted') {
      this.#forget(change.key);
      return;
    }
    if (origin === 'own' || this.#workers.length === 0) return;
    this.#queue.addIfNeeded(change.key);
  }

  /** Who claims which id; a claim that comes or goes may decide about all others of that id. */
  #indexClaims({ type, key, ...change }: Change): void {
    const before =
      'previous' in change ? claimOf(change.previous) : type === 'deleted' ? claimOf(change.object) : undefined;
    const after = type === 'deleted' ? undefined : claimOf(change.object);
    if (before === after) return;
    if (before !== undefined) {
      const keys = this.#claims.get(before);
      keys?.delete(key);
      if (keys?.size === 0) this.#claims.delete(before);
    }
    for (const id of [before, after]) {
      for (const rival of (id !== undefined && this.#claims.get(id)) || []) this.#queue.add(rival);
    }
    if (after !== undefined) this.#claims.set(after, (this.#claims.get(after) ?? new Set()).add(key));
  }

  #forget(key: string): void {
    this.#settled.delete(key);
    this.#told.delete(key);
    this.#queue.drop(key);
  }

  /** After a restart, what was left settled is only compared with the API, by lists, not one by one. */
  #enqueueAtStart(object: KubeObject): void {
    const key = keyOf(object);
    if (!looksSettled(object) || !this.#isHeld(object)) {
      this.#queue.add(key);
      return;
    }
    this.#settled.set(key, object.metadata.resourceVersion);
    const due = nextTimer(object);
    if (due !== undefined) this.#queue.addAfter(key, Math.max(0, due - Date.now()));
  }

  #isHeld(object: KubeObject): boolean {
    const spec = this.#specOf(object);
    return spec !== undefined && this.#comparison.looksHeld(object, spec);
  }

  /** Undefined for a spec that does not parse: that is for the object's own reconcile to say. */
  #specOf(object: KubeObject): Spec | undefined {
    try {
      return this.#comparison.parseSpec(object);
    } catch {
      return undefined;
    }
  }

  #needsWork(key: string): boolean {
    const object = this.cache.store.get(key);
    const settled = this.#settled.get(key);
    if (!object || settled === undefined) return true;
    return isNewer(object.metadata.resourceVersion, settled) || !this.#isHeld(object);
  }

  // Working.

  async #work(): Promise<void> {
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      const object = this.cache.store.get(key);
      if (object) await this.#reconcile(key, object);
      // It may have gone while it was worked on.
      if (!this.cache.store.get(key)) this.#forget(key);
      this.#queue.done(key);
    }
  }

  async #reconcile(key: string, object: KubeObject): Promise<void> {
    const { metrics, kind, log } = this.#o;
    const controller = kind;
    const timer = metrics.reconcileTime.startTimer({ controller });
    metrics.activeWorkers.inc({ controller });
    let result = 'success';
    try {
      const outcome = await this.#reconciler.reconcile(object);
      this.#settled.set(key, outcome.object.metadata.resourceVersion);
      this.#queue.forget(key);
      this.#told.delete(key);
      if (outcome.requeueAfterMs !== undefined) {
        result = 'requeue_after';
        this.#queue.addAfter(key, outcome.requeueAfterMs);
      }
    } catch (error) {
      result = await this.#failed(key, object, error);
    } finally {
      timer();
      metrics.activeWorkers.dec({ controller });
      metrics.reconcileTotal.inc({ controller, result });
      log.debug({ kind, object: key, result }, 'reconciled');
    }
  }

  async #failed(key: string, object: KubeObject, error: unknown): Promise<'requeue' | 'error'> {
    const { metrics, kind, log } = this.#o;
    this.#settled.delete(key);
    const failure = classify(error);
    if (failure.kind === 'stale') {
      this.#queue.addRateLimited(key, { quickFirst: true });
      return 'requeue';
    }
    const isTerminal = failure.kind === 'terminal';
    const level = this.#told.get(key) === failure.message ? 'debug' : 'warn';
    this.#told.set(key, failure.message);
    log[level]({ kind, object: key, reason: failure.reason, err: error }, failure.message);
    metrics.reconcileErrors.inc({ controller: kind });
    if (isTerminal) metrics.terminalErrors.inc({ controller: kind });
    this.#queue.addRateLimited(key, {
      atLeastMs: isTerminal ? 0 : Math.min(failure.retryAfterMs ?? 0, LONGEST_PAUSE_MS),
    });
    if (isTerminal || this.#queue.failures(key) >= FAILURES_UNTIL_SHOWN) {
      await this.#show(key, object, failure.reason, failure.message, !isTerminal);
    }
    return 'error';
  }

  async #show(key: string, object: KubeObject, reason: string, message: string, keepReady: boolean): Promise<void> {
    // A newer version is not what failed; it is in the queue, or comes again with the backoff.
    if (this.cache.store.get(key)?.metadata.resourceVersion !== versionOf(object)) return;
    try {
      const written = await this.#reconciler.recordFailure(object, reason, message, keepReady);
      this.#settled.set(key, written.metadata.resourceVersion);
    } catch (err) {
      this.#o.log.debug({ err, object: key }, 'the failure could not be written to the status yet');
    }
  }

  // Comparing with the API.

  #scheduleResync(ms: number): void {
    if (this.#stopping) return;
    this.#resyncTimer = setTimeout(() => {
      this.#resync = this.#compare().then((isDone) => {
        const next = isDone ? this.#o.resyncMs : Math.min(this.#o.resyncMs, RETRY_RESYNC_MS);
        this.#scheduleResync(jittered(next, 0.1));
      });
    }, ms);
  }

  /** One pass over the family's list; only what differs or is gone is looked at more closely. False when it failed. */
  async #compare(): Promise<boolean> {
    const { metrics, kind, log } = this.#o;
    try {
      // What changes while the list is read is reconciled anyway, and the list may be older than it.
      const before = new Map([...this.cache.store.values()].map((object) => [object.metadata.uid, versionOf(object)]));
      const remotes = new Map<string, R>();
      for await (const remote of this.#comparison.external.all()) {
        if (this.#stopping) return true;
        remotes.set(remote.id, remote);
      }
      for (const object of this.cache.store.values()) {
        const isUnchanged = before.get(object.metadata.uid) === versionOf(object);
        if (isUnchanged && differs(this.#comparison, this.#specOf(object), object, remotes))
          this.#queue.add(keyOf(object));
      }
      metrics.resyncs.inc({ kind, result: 'success' });
      return true;
    } catch (err) {
      metrics.resyncs.inc({ kind, result: 'error' });
      log.warn({ kind, err }, 'comparing with the API failed; will try again soon');
      return false;
    }
  }
}

function versionOf(object: KubeObject): string {
  return object.metadata.resourceVersion;
}

/** When there is something to do without any change, as the last reconcile left it: a rotation, a revocation. */
function nextTimer(object: KubeObject): number | undefined {
  const times = readIdentity(object).retiring.map(({ after }) => Date.parse(after));
  const { rotatesAt } = readStatus(object);
  if (typeof rotatesAt === 'string') times.push(Date.parse(rotatesAt));
  return times.length > 0 ? Math.min(...times) : undefined;
}
