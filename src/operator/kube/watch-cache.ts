/**
 * A local copy of one kind, kept by list and watch.
 *
 * It lists in pages, watches from the list's version with bookmarks, and resumes each watch from the last version seen.
 * If that version is too old (410), it lists again. After any other end (error, clean close, silence beyond a deadline)
 * it backs off with jitter and resumes. It never stops by itself and never ends the process.
 *
 * Not `makeInformer` of @kubernetes/client-node 2.0.1, which cuts every watch at 30 s, stops on errors other than 410,
 * identifies objects by name, requests no bookmarks and fails on very long lists.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { backoff } from '../../retry/backoff.ts';
import { FailureLog } from './failure-log.ts';
import type { KubeApi, ResourceType } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject } from './kube-object.ts';
import type { KubeMetrics } from './metrics.ts';
import { type ChangeHandler, type ChangeOrigin, type ObjectChange, ObjectStore } from './object-store.ts';

export interface WatchCacheOptions {
  type: ResourceType;
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  /** Keeps only what the controller reads; called once per object version. */
  transform?: (object: KubeObject) => KubeObject;
  /** Whether to keep the object; without it, all are kept. */
  isKept?: (object: KubeObject) => boolean;
  /** Without spec, status and data. */
  metadataOnly?: boolean;
  /** The cluster need not have the resource: that it is missing is no error. */
  isOptional?: boolean;
  /** A watch that receives nothing for this long, not even bookmarks, is closed and resumed; in milliseconds. */
  silenceMs: number;
  log: Logger;
  metrics: KubeMetrics;
}

/** Why a cache cannot be filled until somebody acts. Retrying goes on, and notices when it has been done. */
export interface Obstacle {
  /** `missing`: the API server does not serve the resource; `forbidden`: the permission is missing. */
  kind: 'missing' | 'forbidden';
  /** What to do, in a sentence. */
  message: string;
}

const PAGE_SIZE = 500;
const WATCH_SECONDS = { shortest: 240, longest: 480 };
const RETRY = { firstMs: 200, longestMs: 30_000 };

export class WatchCache {
  readonly store = new ObjectStore();
  readonly #api: KubeApi;
  readonly #options: WatchCacheOptions;
  readonly #failures: FailureLog;
  readonly #handlers: ChangeHandler[] = [];
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  readonly #tried = Promise.withResolvers<void>();
  #version: string | undefined;
  #lastHeard = 0;
  #obstacle: Obstacle | undefined;
  #running: Promise<void> | undefined;

  constructor(api: KubeApi, options: WatchCacheOptions) {
    this.#api = api;
    this.#options = options;
    this.#failures = new FailureLog(options.log);
  }

  /** Notifies the handler of every change from now on, after the handlers added before it. */
  addHandler(handler: ChangeHandler): void {
    this.#handlers.push(handler);
  }

  /** Starts to list and watch; resolves when the first list is in the store, or an obstacle was found. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#tried.promise;
  }

  /** Resolves when the first list is in the store. */
  get filled(): Promise<void> {
    return this.#synced.promise;
  }

  /** Ends the watch; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Stores the response to our own write, so that the next reconcile does not act on an older version. */
  observe(written: KubeObject): void {
    this.#emit(this.store.put(this.#keep(written)), 'own');
  }

  /** Removes an object that this process deleted. */
  observeDelete(deleted: KubeObject): void {
    this.#emit(this.store.remove(deleted), 'own');
  }

  /** Milliseconds since this cache last received anything from the API server; undefined before the first list. */
  staleness(now = Date.now()): number | undefined {
    return this.#lastHeard === 0 ? undefined : now - this.#lastHeard;
  }

  /** What keeps the cache from being filled or kept up to date, if somebody has to act. */
  obstacle(): Obstacle | undefined {
    return this.#obstacle;
  }

  async #run(): Promise<void> {
    const { type } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      const heardBefore = this.#lastHeard;
      const began = performance.now();
      try {
        if (this.#version === undefined) await this.#list();
        this.#synced.resolve();
        this.#tried.resolve();
        await this.#watch(this.#version ?? '');
        // Do not retry in a tight loop when a server or proxy ends every watch at once.
        failures = this.#lastHeard > heardBefore || performance.now() - began > 1_000 ? 0 : failures + 1;
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        failures = this.#lastHeard > heardBefore ? 1 : failures + 1;
        const phase = this.#version === undefined ? 'list' : 'watch';
        // Of a resource that is served again, everything may have changed.
        if (error instanceof KubeError && (error.isExpired || error.isNotFound)) this.#version = undefined;
        this.#count(`${phase}-failed`);
        const obstacle = obstacleFrom(error, phase, type);
        if (obstacle) this.#note(obstacle, error);
        else this.#failures.warn(error, `${phase} failed; will resume`, { resource: type.plural, failures });
      }
      await this.#pause(failures === 0 ? RETRY.firstMs * Math.random() : backoff(failures, RETRY));
    }
  }

  async #list(): Promise<void> {
    const { type, namespace, labelSelector, metadataOnly } = this.#options;
    this.#count('list');
    const objects: KubeObject[] = [];
    let continueToken: string | undefined;
    let version = '';
    do {
      const { signal } = this.#stop;
      const options = { namespace, labelSelector, limit: PAGE_SIZE, continueToken, signal, metadataOnly };
      const page = await this.#api.list(type, options);
      for (const item of page.items) if (this.#isKept(item)) objects.push(this.#keep(item));
      continueToken = page.continueToken;
      version = page.resourceVersion;
    } while (continueToken !== undefined);
    this.#heard();
    this.#emit(this.store.replace(objects, version), 'watch');
    this.#version = version;
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { type, namespace, labelSelector, silenceMs, metadataOnly } = this.#options;
    const { shortest, longest } = WATCH_SECONDS;
    const timeoutSeconds = Math.round(shortest + Math.random() * (longest - shortest));
    const silent = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, silent.signal]);
    const alarm = setTimeout(() => silent.abort(), silenceMs);
    this.#count('watch');
    try {
      const options = { namespace, labelSelector, resourceVersion, timeoutSeconds, signal, metadataOnly };
      for await (const event of this.#api.watch(type, options)) {
        alarm.refresh();
        this.#heard();
        if (event.type === 'BOOKMARK') {
          this.#version = event.resourceVersion;
          continue;
        }
        const object = this.#keep(event.object);
        if (event.type === 'DELETED') this.#emit(this.store.remove(object), 'watch');
        else if (this.#isKept(event.object)) this.#emit(this.store.put(object), 'watch');
        this.#version = object.metadata.resourceVersion;
      }
    } catch (error) {
      if (!silent.signal.aborted) throw error;
      this.#count('watch-silent');
    } finally {
      clearTimeout(alarm);
    }
  }

  #isKept(object: KubeObject): boolean {
    return this.#options.isKept?.(object) ?? true;
  }

  #keep(object: KubeObject): KubeObject {
    return (this.#options.transform ?? slim)(object);
  }

  /** Logs it once, however often it is retried. */
  #note(obstacle: Obstacle, err: unknown): void {
    const isExpected = obstacle.kind === 'missing' && this.#options.isOptional;
    const isKnown = isExpected || this.#obstacle?.message === obstacle.message;
    this.#obstacle = obstacle;
    this.#tried.resolve();
    const { log, type } = this.#options;
    const resource = type.plural;
    if (isKnown) log.debug({ err, resource }, obstacle.message);
    // The answer, a 404 in plain text, would only mislead.
    else if (obstacle.kind === 'missing') log.warn({ resource }, obstacle.message);
    else log.error({ err, resource }, obstacle.message);
  }

  #heard(): void {
    this.#obstacle = undefined;
    this.#failures.succeeded();
    this.#lastHeard = Date.now();
  }

  #emit(changes: ObjectChange[], origin: ChangeOrigin): void {
    for (const change of changes) for (const handler of this.#handlers) handler.onChange(change, origin);
  }

  #count(activity: 'list' | 'watch' | 'list-failed' | 'watch-failed' | 'watch-silent'): void {
    this.#options.metrics.watchActivity.inc({ resource: this.#options.type.plural, activity });
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}

function obstacleFrom(error: unknown, verb: 'list' | 'watch', { group, plural }: ResourceType): Obstacle | undefined {
  if (!(error instanceof KubeError)) return undefined;
  const resource = group === '' ? plural : `${plural}.${group}`;
  if (error.isNotFound) {
    const message = `the cluster has no ${resource}; install its CustomResourceDefinition`;
    return { kind: 'missing', message };
  }
  if (!error.isForbidden) return undefined;
  return { kind: 'forbidden', message: `not allowed to ${verb} ${resource}; grant get, list and watch on ${resource}` };
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Drops managed fields and the last-applied copy: no controller reads them, and they are most of a small object's size.
 */
export function slim(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return { ...object, metadata };
  const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations;
  return { ...object, metadata: { ...metadata, annotations } };
}
