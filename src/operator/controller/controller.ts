/**
 * Everything that reconciles one kind. The path of an object:
 *
 *   WatchCache (kube)         lists and watches; tells its handlers what changed
 *   EnqueueObject & siblings  decide which keys the change adds to the queue
 *   WorkQueue                 holds each key once, with backoff after failures
 *   Workers                   hand the newest object to the reconciler
 *   ManagedReconciler         makes the API match the spec, and writes the status;
 *   or AttachedReconciler     for kinds without resources of their own
 *
 * Resync adds the objects whose resource was changed in the API.
 */
import type { Logger } from 'pino';
import type { Tracing } from '../../tracing/tracing.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { KubeApi } from '../kube/kube-api.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import type { KubeMetrics } from '../kube/metrics.ts';
import { slim, WatchCache, type WatchCacheOptions } from '../kube/watch-cache.ts';
import { AttachedReconciler } from '../managed/attached-reconciler.ts';
import { expires } from '../managed/declaration/kind.ts';
import { type Cluster, lacksClaim, managerOf } from '../managed/identity/manager.ts';
import { looksSettled } from '../managed/identity/recorded-status.ts';
import { plannedWork } from '../managed/identity/schedule.ts';
import { Claims } from '../managed/knowledge/claims.ts';
import type { ConnectedKind } from '../managed/object/connected-kind.ts';
import { type DnsEndpoints, isEdit, showsDnsPublished } from '../managed/object/dns-endpoint.ts';
import type { ManagedMetrics } from '../managed/object/metrics.ts';
import type { ObjectConnections } from '../managed/object/object-connections.ts';
import { ManagedReconciler } from '../managed/reconciler.ts';
import { ReissueBackoff } from '../managed/secrets/reissue-backoff.ts';
import type { SecretCache } from '../managed/secrets/secret-cache.ts';
import { EnqueueObject, EnqueueOwner, EnqueueRivals } from './change-handlers.ts';
import { readExpiry } from './expiry-gauges.ts';
import { EnqueueOwnersOfModules, EnqueueReferrers, enqueueAround, IndexInputs } from './input-handlers.ts';
import { type ControllerMetrics, queueObserver, readQueue } from './metrics.ts';
import { ObjectGauges } from './object-gauges.ts';
import { Resync } from './resync.ts';
import { SettledVersions } from './settled-versions.ts';
import { WorkQueue } from './work-queue.ts';
import { Workers } from './workers.ts';

export interface ControllerOptions {
  kube: KubeApi;
  cluster: Cluster;
  eventRecorder: EventRecorder;
  secrets: SecretCache;
  dnsEndpoints: DnsEndpoints;
  /** Which namespaces to watch. */
  scope: Pick<WatchCacheOptions, 'namespaces' | 'presence' | 'isWatched' | 'isListed'>;
  connections: ObjectConnections;
  /** Whether this process reconciles the object; others, such as those of other shards, are only known. */
  isOurs(object: KubeObject): boolean;
  /** Maximum number of concurrent reconciles of this kind and a connection. */
  concurrency: number;
  resyncMs: number;
  silenceMs: number;
  /** Whether objects of the namespace may adopt and observe existing resources. */
  mayAdopt(namespace: string): boolean;
  /** Whether an API key or token that is handed out may have the rights of a user. */
  mayHandOutUserRights: boolean;
  metrics: { kube: KubeMetrics; managed: ManagedMetrics; controller: ControllerMetrics };
  tracing?: Tracing | undefined;
  log: Logger;
}

/** How many connections may have as many reconciles in progress as one may: one that hangs must not hold up others. */
const CONNECTIONS_AT_ONCE = 8;

const BACKOFF = { firstMs: 1_000, longestMs: 60_000 };

export class Controller {
  readonly cache: WatchCache;
  readonly #options: ControllerOptions;
  readonly #kind: ConnectedKind;
  readonly #queue: WorkQueue;
  readonly #settled = new SettledVersions();
  readonly #workers: Workers;
  readonly #resync: Resync;
  readonly #objectGauges: ObjectGauges;
  #isStarted = false;

  constructor(kind: ConnectedKind, options: ControllerOptions) {
    this.#kind = kind;
    this.#options = options;
    const { kube, eventRecorder, connections, concurrency, resyncMs, tracing, log } = options;
    const metrics = options.metrics.controller;
    this.cache = makeCache(kind, options);
    this.#objectGauges = new ObjectGauges(kind.name, metrics);
    const { store } = this.cache;
    this.#queue = new WorkQueue({
      backoff: BACKOFF,
      accepts: (key) => this.#accepts(key),
      isNeeded: (key) => this.#needsWork(key),
      observer: queueObserver(metrics, kind.name),
      shares: { of: (key) => this.#connectionOf(key), most: concurrency },
    });
    const claims = new Claims(kind, store, options.mayAdopt, (object) => connections.of(object).key);
    const access = {
      kind,
      claims,
      connections,
      dnsEndpoints: options.dnsEndpoints,
      kube,
      cluster: options.cluster,
      cache: this.cache,
      eventRecorder,
      metrics: options.metrics.managed,
      mayAdopt: options.mayAdopt,
      mayHandOutUserRights: options.mayHandOutUserRights,
      reissueBackoff: new ReissueBackoff(),
    };
    const reconciler = kind.isAttached ? new AttachedReconciler(access) : new ManagedReconciler(access);
    this.#workers = new Workers({
      name: kind.name,
      concurrency,
      most: concurrency * CONNECTIONS_AT_ONCE,
      queue: this.#queue,
      store,
      settled: this.#settled,
      isOurs: options.isOurs,
      termsOf: (object) => ({ ...kind.termsOf(object), connection: connections.of(object).name }),
      reconciler,
      metrics,
      tracing,
      log,
    });
    const ours = { get: (key: string) => store.get(key), values: () => this.#ours() };
    this.#resync = new Resync({
      kind,
      connections,
      store: ours,
      queue: this.#queue,
      everyMs: resyncMs,
      metrics,
      tracing,
      log,
    });
    kind.inputs.addPeer(kind.name, {
      store,
      gap: (namespace) => this.cache.gapIn(namespace),
      ownerKind: kind.declared.owner?.kind,
      modulesIn: (object) => kind.modulesIn(object),
      referencesIn: (object) => kind.referencesIn(object),
      catchUp: (namespace) => this.cache.catchUp(namespace),
      concernedWith: (id) => claims.concernedWith(id),
      enqueue: (key) => this.#enqueue(key),
    });
    this.cache.addHandler(claims);
    this.cache.addHandler(new IndexInputs(kind.name, kind.inputs, (object) => kind.membersOf(object)));
    this.cache.addHandler(this.#workers);
    this.cache.addHandler(new EnqueueRivals(this.#queue, claims));
  }

  get name(): string {
    return this.#kind.name;
  }

  /** Whether its objects have no connections. */
  get isAdministrative(): boolean {
    return this.#kind.declared.isAdministrative ?? false;
  }

  /** Starts the workers and the resync. The caches must be filled. */
  start(): void {
    this.#isStarted = true;
    this.cache.addHandler(new EnqueueObject(this.#queue));
    this.cache.addHandler(new EnqueueReferrers(this.#kind.name, this.#kind.inputs));
    const { owner } = this.#kind.declared;
    if (owner) this.cache.addHandler(new EnqueueOwnersOfModules(owner.kind, this.#kind.inputs));
    this.#options.secrets.watch.addHandler(new EnqueueOwner(this.#queue, this.#kind, this.cache.store));
    for (const object of this.#ours()) this.#enqueueAtStart(object);
    this.#workers.start();
    this.#resync.start();
    if (this.#kind.declared.dnsRecords) this.#followDnsEndpoints(this.#options.dnsEndpoints);
  }

  /** Has these objects reconciled soon, whatever their backoff. */
  enqueueWhere(isAffected: (object: KubeObject) => boolean): void {
    for (const object of this.#ours()) if (isAffected(object)) this.#enqueue(keyOf(object));
  }

  /** Starts later than the other kinds, which have worked without its objects so far. */
  startLate(): void {
    this.start();
    enqueueAround(this.name, this.#kind.inputs);
  }

  /** Takes up the objects of a namespace that is watched from now on. */
  join(namespace: string): void {
    for (const object of this.#ours()) if (object.metadata.namespace === namespace) this.#queue.add(keyOf(object));
  }

  /** Takes no new work; resolves when the reconciles in progress have finished. */
  async stop(): Promise<void> {
    this.#queue.shutDown();
    await Promise.all([this.#workers.stopped(), this.#resync.stop()]);
  }

  /** Sets the gauges that are read at scrape time. */
  readGauges(): void {
    const { controller, kube } = this.#options.metrics;
    readQueue(controller, this.#kind.name, this.#queue);
    controller.crdMissing.set({ kind: this.#kind.name }, this.cache.obstacle()?.kind === 'missing' ? 1 : 0);
    this.#objectGauges.read(this.#ours());
    if (expires(this.#kind.declared)) readExpiry(this.name, controller, this.#ours(), this.#kind.now());
    kube.watchStaleness.set({ resource: this.#kind.type.plural }, (this.cache.staleness() ?? 0) / 1000);
  }

  *#ours(): Generator<KubeObject, undefined> {
    for (const object of this.cache.store.values()) if (this.#options.isOurs(object)) yield object;
  }

  #connectionOf(key: string): string {
    const object = this.cache.store.get(key);
    return object ? this.#options.connections.of(object).key : '';
  }

  /** Queues nothing before the workers run: a standby would only collect keys, and the start looks at every object. */
  #accepts(key: string): boolean {
    if (!this.#isStarted) return false;
    const object = this.cache.store.get(key);
    return !object || this.#options.isOurs(object);
  }

  /** After a restart, objects that were left settled are only compared with the API by the resync, not one by one. */
  #enqueueAtStart(object: KubeObject): void {
    if (!looksSettled(object) || !this.#kind.looksHeld(object) || this.#lacksClaim(object)) {
      this.#queue.add(keyOf(object));
      return;
    }
    this.#settled.set(object);
    const planned = plannedWork(object);
    if (planned) this.#queue.addAfter(keyOf(object), Math.max(0, planned.getTime() - this.#kind.now().getTime()));
  }

  /** Whether another cluster may have a better claim to the resource; the resync does not tell. */
  #lacksClaim(object: KubeObject): boolean {
    if (this.#kind.membersOf(object).managementPolicy === 'Observe') return false;
    return lacksClaim(object, managerOf(object, this.name, this.#options.cluster));
  }

  /** DNSEndpoints may be edited or deleted, and ExternalDNS may be installed after the operator. */
  #followDnsEndpoints({ watch }: DnsEndpoints): void {
    watch.addHandler({
      onChange: (change, origin) => {
        if (origin !== 'own' && isEdit(change)) this.#enqueue(change.key);
      },
    });
    void watch.filled.then(() => {
      for (const object of this.#ours()) if (showsDnsPublished(object)) this.#enqueue(keyOf(object));
    });
  }

  /** Ends the object's backoff, however long. */
  #enqueue(key: string): void {
    if (!this.cache.store.get(key)) return;
    this.#queue.forget(key);
    this.#queue.add(key);
  }

  /** Whether the object needs a reconcile, after a possible change of it or of its Secret. */
  #needsWork(key: string): boolean {
    const object = this.cache.store.get(key);
    return !object || !this.#settled.covers(object) || !this.#kind.looksHeld(object);
  }
}

function makeCache(kind: ConnectedKind, { kube, scope, silenceMs, metrics, log }: ControllerOptions): WatchCache {
  const { group, version } = kind.type;
  return new WatchCache(kube, {
    type: kind.type,
    ...scope,
    silenceMs,
    log,
    metrics: metrics.kube,
    // The items of a list carry neither kind nor apiVersion.
    transform: (object) => ({ ...slim(object), kind: kind.name, apiVersion: `${group}/${version}` }),
  });
}
