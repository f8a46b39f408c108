/**
 * A local copy of one kind, kept by list and watch.
 *
 * It lists in pages, then watches from the list's version with bookmarks, and resumes each watch from the last version
 * seen. A version that is too old (410) means listing again; any other end (error, clean close, silence beyond a
 * deadline) means backing off with jitter and resuming. It never stops by itself and never ends the process.
 *
 * Not `makeInformer` of @kubernetes/client-node 2.0.1: that one cuts every watch at 30 s, stops on errors other than
 * 410, tells objects apart by name, asks for no bookmarks and fails on very long lists.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { backoff } from '../../retry/backoff.ts';
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
  /** A watch that says nothing for this long (bookmarks included) is cut and resumed, in milliseconds. */
  silenceMs: number;
  log: Logger;
  metrics: KubeMetrics;
}

const PAGE_SIZE = 500;
const WATCH_SECONDS = { shortest: 240, longest: 480 };
const RETRY = { firstMs: 200, longestMs: 30_000 };

export class WatchCache {
  readonly store = new ObjectStore();
  readonly #api: KubeApi;
  readonly #options: WatchCacheOptions;
  readonly #handlers: ChangeHandler[] = [];
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #version: string | undefined;
  #lastHeard = 0;
  #forbidden: 'list' | 'watch' | undefined;
  #running: Promise<void> | undefined;

  constructor(api: KubeApi, options: WatchCacheOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Has the handler told of every change from now on, after those that were added before it. */
  addHandler(handler: ChangeHandler): void {
    this.#handlers.push(handler);
  }

  /** Begins listing and watching; resolves when the first list is in the store. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#synced.promise;
  }

  /** Ends the watch; resolves when nothing of it is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Takes in the answer to a write of ours, so that the next reconcile does not act on an older version. */
  observe(written: KubeObject): void {
    this.#emit(this.store.put(this.#keep(written)), 'own');
  }

  /** Takes in that we deleted the object. */
  observeDelete(deleted: KubeObject): void {
    this.#emit(this.store.remove(deleted), 'own');
  }

  /** Milliseconds since the API server was last heard of through this cache; undefined before the first list. */
  staleness(now = Date.now()): number | undefined {
    return this.#lastHeard === 0 ? undefined : now - this.#lastHeard;
  }

  /** Which right is missing, if one is: no time heals that, somebody has to grant it. */
  missingRight(): string | undefined {
    if (this.#forbidden === undefined) return undefined;
    const { group, plural } = this.#options.type;
    const resource = group === '' ? plural : `${plural}.${group}`;
    return `not allowed to ${this.#forbidden} ${resource}; grant get, list and watch on ${resource}`;
  }

  async #run(): Promise<void> {
    const { log, type } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      const heardBefore = this.#lastHeard;
      const began = performance.now();
      try {
        if (this.#version === undefined) await this.#list();
        this.#synced.resolve();
        await this.#watch(this.#version ?? '');
        // A server or proxy that ends every watch at once must not be asked in a tight loop.
        failures = this.#lastHeard > heardBefore || performance.now() - began > 1_000 ? 0 : failures + 1;
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        failures = this.#lastHeard > heardBefore ? 1 : failures + 1;
        if (error instanceof KubeError && error.isExpired) this.#version = undefined;
        const phase = this.#version === undefined ? 'list' : 'watch';
        this.#count(`${phase}-failed`);
        if (error instanceof KubeError && error.isForbidden) this.#noteForbidden(phase, error);
        else log.warn({ err: error, resource: type.plural, failures }, `${phase} failed; will resume`);
      }
      await this.#pause(failures === 0 ? RETRY.firstMs * Math.random() : backoff(failures, RETRY));
    }
  }

  async #list(): Promise<void> {
    const { type, namespace, labelSelector } = this.#options;
    this.#count('list');
    const objects: KubeObject[] = [];
    let continueToken: string | undefined;
    let version = '';
    do {
      const { signal } = this.#stop;
      const page = await this.#api.list(type, { namespace, labelSelector, limit: PAGE_SIZE, continueToken, signal });
      for (const item of page.items) objects.push(this.#keep(item));
      continueToken = page.continueToken;
      version = page.resourceVersion;
    } while (continueToken !== undefined);
    this.#heard();
    this.#emit(this.store.replace(objects, version), 'watch');
    this.#version = version;
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { type, namespace, labelSelector, silenceMs } = this.#options;
    const { shortest, longest } = WATCH_SECONDS;
    const timeoutSeconds = Math.round(shortest + Math.random() * (longest - shortest));
    const silent = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, silent.signal]);
    const alarm = setTimeout(() => silent.abort(), silenceMs);
    this.#count('watch');
    try {
      const options = { namespace, labelSelector, resourceVersion, timeoutSeconds, signal };
      for await (const event of this.#api.watch(type, options)) {
        alarm.refresh();
        this.#heard();
        if (event.type === 'BOOKMARK') {
          this.#version = event.resourceVersion;
          continue;
        }
        const object = this.#keep(event.object);
        this.#emit(event.type === 'DELETED' ? this.store.remove(object) : this.store.put(object), 'watch');
        this.#version = object.metadata.resourceVersion;
      }
    } catch (error) {
      if (!silent.signal.aborted) throw error;
      this.#count('watch-silent');
    } finally {
      clearTimeout(alarm);
    }
  }

  #keep(object: KubeObject): KubeObject {
    return (this.#options.transform ?? slim)(object);
  }

  /** Says so once, however often it is tried. */
  #noteForbidden(phase: 'list' | 'watch', err: KubeError): void {
    const level = this.#forbidden === phase ? 'debug' : 'error';
    this.#forbidden = phase;
    this.#options.log[level]({ err, resource: this.#options.type.plural }, this.missingRight());
  }

  #heard(): void {
    this.#forbidden = undefined;
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

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Drops what no controller reads and what is most of a small object's size: managed fields and the last-applied copy. */
export function slim(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return { ...object, metadata };
  const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations;
  return { ...object, metadata: { ...metadata, annotations } };
}
