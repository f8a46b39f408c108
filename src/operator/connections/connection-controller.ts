/** When connections of one kind are reconciled. */
import type { Logger } from 'pino';
import { EnqueueObject } from '../controller/change-handlers.ts';
import { type ControllerMetrics, queueObserver, readQueue } from '../controller/metrics.ts';
import { SettledVersions } from '../controller/settled-versions.ts';
import { WorkQueue } from '../controller/work-queue.ts';
import { Workers } from '../controller/workers.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import { type ObjectChange, statesOf } from '../kube/object-store.ts';
import type { WatchCache } from '../kube/watch-cache.ts';
import { NO_TERMS } from '../managed/declaration/spec-terms.ts';
import { isDeleting } from '../managed/identity/recorded-status.ts';
import type { Inputs } from '../managed/knowledge/inputs.ts';
import { objectKey } from '../managed/knowledge/reference-index.ts';
import type { ConnectionKind } from './connection-kinds.ts';
import type { ConnectionReconciler } from './connection-reconciler.ts';
import { type Connections, connectionKey } from './connections.ts';

export interface ConnectionControllerOptions {
  kind: ConnectionKind;
  cache: WatchCache;
  connections: Connections;
  reconciler: ConnectionReconciler;
  inputs: Inputs;
  secretNamespace(object: KubeObject): string;
  /** Has the objects that use the connection, or may use it, reconciled. */
  changed(connection: KubeObject): void;
  concurrency: number;
  metrics: ControllerMetrics;
  log: Logger;
}

const BACKOFF = { firstMs: 1_000, longestMs: 60_000 };

export class ConnectionController {
  readonly cache: WatchCache;
  readonly #options: ConnectionControllerOptions;
  readonly #queue: WorkQueue;
  readonly #workers: Workers;
  #isStarted = false;

  constructor(options: ConnectionControllerOptions) {
    this.#options = options;
    const { kind, cache, connections, reconciler, inputs, concurrency, metrics, log } = options;
    this.cache = cache;
    const settled = new SettledVersions();
    this.#queue = new WorkQueue({
      backoff: BACKOFF,
      accepts: () => this.#isStarted,
      isNeeded: (key) => {
        const object = cache.store.get(key);
        return !object || !settled.covers(object);
      },
      observer: queueObserver(metrics, kind.kind),
    });
    this.#workers = new Workers({
      name: kind.kind,
      concurrency,
      queue: this.#queue,
      store: cache.store,
      settled,
      isOurs: () => true,
      termsOf: (object) => ({ ...NO_TERMS, connection: connectionKey(kind.kind, object) }),
      reconciler,
      metrics,
      log,
    });
    // The key of an object in the index of references has a namespace in any case.
    const enqueue = (key: string) => this.enqueue(key.replace(/^\//, ''));
    inputs.addPeer(kind.kind, { store: cache.store, enqueue });
    cache.addHandler({ onChange: (change) => this.#index(change) });
    cache.addHandler(this.#workers);
    cache.addHandler({ onChange: (change) => this.#tell(change) });
    connections.setCheck(kind.kind, {
      check: (connection) => reconciler.check(connection),
      requeue: ({ object }) => this.enqueue(keyOf(object)),
    });
  }

  get name(): string {
    return this.#options.kind.kind;
  }

  start(): void {
    this.#isStarted = true;
    this.cache.addHandler(new EnqueueObject(this.#queue));
    for (const object of this.cache.store.values()) this.#queue.add(keyOf(object));
    this.#workers.start();
  }

  /** Has it reconciled soon, whatever its backoff. */
  enqueue(key: string): void {
    if (!this.cache.store.get(key)) return;
    this.#queue.forget(key);
    this.#queue.add(key);
  }

  /** Something that used a connection is gone. */
  enqueueDeleting(): void {
    for (const object of this.cache.store.values()) if (isDeleting(object)) this.enqueue(keyOf(object));
  }

  async stop(): Promise<void> {
    this.#queue.shutDown();
    await this.#workers.stopped();
  }

  readGauges(): void {
    readQueue(this.#options.metrics, this.name, this.#queue);
  }

  /** What objects see of a connection; that it has become usable, its reconcile tells. */
  #tell(change: ObjectChange): void {
    const { connections, kind, changed } = this.#options;
    if (change.type === 'deleted') connections.drop(kind.kind, change.object);
    if (change.type === 'updated' && isSameForObjects(change.previous, change.object)) return;
    changed(change.object);
  }

  /** So that a change of its Secret enqueues the connection. */
  #index(change: ObjectChange): void {
    const { kind, inputs, secretNamespace } = this.#options;
    const { after } = statesOf(change);
    const { namespace = '', name } = change.object.metadata;
    const spec = after && kind.spec.safeParse(after.spec).data;
    const secret = after && spec && objectKey('Secret', secretNamespace(after), spec.apiKeySecretRef.name);
    inputs.index.set(objectKey(kind.kind, namespace, name), new Set(secret ? [secret] : []));
  }
}

const isSameForObjects = (before: KubeObject, after: KubeObject) =>
  before.metadata.generation === after.metadata.generation && isDeleting(before) === isDeleting(after);
