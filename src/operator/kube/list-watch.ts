/**
 * Lists and watches one resource, in one namespace or in all, and hands on what it learns.
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
import type { KubeApi, ObjectList, ResourceType } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject } from './kube-object.ts';
import type { KubeMetrics } from './metrics.ts';
import type { Absence, NamespacePresence } from './namespace-presence.ts';
import { type Obstacle, obstacleFrom } from './obstacle.ts';

/** Takes what was learnt. */
export interface ObjectSink {
  /** What to keep of a listed object until the list is complete: nothing, or one object. */
  kept(listed: KubeObject): KubeObject[];
  /** The list is complete. */
  listed(objects: KubeObject[], version: string): void;
  changed(object: KubeObject): void;
  deleted(object: KubeObject): void;
}

export interface ListWatchOptions {
  type: ResourceType;
  /** All, if undefined. */
  namespace: string | undefined;
  labelSelector?: string | undefined;
  /** Without spec, status and data. */
  metadataOnly?: boolean | undefined;
  /** The cluster need not have the resource: that it is missing is no error. */
  isOptional?: boolean | undefined;
  /** A watch that receives nothing for this long, not even bookmarks, is closed and resumed; in milliseconds. */
  silenceMs: number;
  /** Tells a namespace that is or was deleted from one without permissions; if missing, it counts as the latter. */
  presence?: NamespacePresence | undefined;
  sink: ObjectSink;
  log: Logger;
  metrics: KubeMetrics;
}

const PAGE_SIZE = 500;
const WATCH_SECONDS = { shortest: 240, longest: 480 };
/** In a row; more is a failure. After a CustomResourceDefinition was changed, its watches are throttled for a second. */
const TOLERATED_THROTTLES = 3;
const RETRY = { firstMs: 200, longestMs: 30_000 };
/** A resource version: the largest that the API server gives. */
const NEWER_THAN_ALL = String(2n ** 64n - 1n);
/** Upper bound for a Retry-After of the server or a proxy: the cluster changes meanwhile. */
const LONGEST_PAUSE_MS = 60_000;

export class ListWatch {
  readonly #api: KubeApi;
  readonly #options: ListWatchOptions;
  readonly #failures: FailureLog;
  readonly #stop = new AbortController();
  /** Aborted to list again. */
  #round = new AbortController();
  readonly #listed = Promise.withResolvers<void>();
  #tried = Promise.withResolvers<void>();
  #version: string | undefined;
  #lastHeard = 0;
  /** How many events the watches have received. */
  #events = 0;
  #obstacle: Obstacle | undefined;
  #absence: Absence | undefined;
  #running: Promise<void> | undefined;

  constructor(api: KubeApi, options: ListWatchOptions) {
    this.#api = api;
    this.#options = options;
    this.#failures = new FailureLog(options.log);
  }

  /** Resolves when the first list is complete, or an obstacle was found. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#tried.promise;
  }

  /** Resolves when the first list is complete, or the namespace is skipped. */
  get listed(): Promise<void> {
    return this.#listed.promise;
  }

  /** Lists again at once, since more objects are to be kept than before; resolves as `start` does. */
  relist(): Promise<void> {
    const before = this.#tried;
    this.#tried = Promise.withResolvers();
    // Callers that wait for an earlier list wait for this one instead.
    void this.#tried.promise.then(before.resolve);
    this.#version = undefined;
    this.#round.abort();
    this.#round = new AbortController();
    return this.#tried.promise;
  }

  /** Resolves when the watch has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** When it last received anything from the API server; undefined before the first list. */
  get lastHeard(): number | undefined {
    return this.#lastHeard === 0 ? undefined : this.#lastHeard;
  }

  /** Why it cannot work until a person acts. */
  get obstacle(): Obstacle | undefined {
    return this.#obstacle;
  }

  /** Why the namespace is skipped; undefined if it is not. */
  get absence(): Absence | undefined {
    return this.#absence;
  }

  covers(namespace: string): boolean {
    return [undefined, namespace].includes(this.#options.namespace);
  }

  /**
   * Passes on every current object of the namespace, even if the watch lags. A resource that the watch has found missing
   * has no objects.
   * @param name only this object
   * @throws KubeError, KubeUnreachableError
   */
  async catchUp(namespace: string, name?: string): Promise<void> {
    try {
      for await (const { items } of this.#pages(namespace, this.#stop.signal, name))
        for (const item of items) this.#options.sink.changed(item);
    } catch (error) {
      const isMissing = error instanceof KubeError && error.isNotFound && this.#obstacle?.kind === 'missing';
      if (!isMissing && (await this.#absenceFrom(error)) !== 'missing') throw error;
    }
  }

  async #run(): Promise<void> {
    const { type, namespace } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      // A list alone is no progress: a server that refuses every watch would be listed without pause.
      const eventsBefore = this.#events;
      let retryAfterMs = 0;
      const began = performance.now();
      const { signal } = this.#round;
      try {
        if (this.#version === undefined) await this.#list(signal);
        signal.throwIfAborted();
        this.#listed.resolve();
        this.#tried.resolve();
        await this.#watch(this.#version ?? '', signal);
        // Do not retry in a tight loop when a server or proxy ends every watch at once.
        failures = this.#events > eventsBefore || performance.now() - began > 1_000 ? 0 : failures + 1;
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        if (signal.aborted) continue;
        failures = this.#events > eventsBefore ? 1 : failures + 1;
        const phase = this.#version === undefined ? 'list' : 'watch';
        // A resource that is served again may have changed completely.
        if (error instanceof KubeError && (error.isExpired || error.isNotFound)) this.#version = undefined;
        this.#count(`${phase}-failed`);
        if (error instanceof KubeError) retryAfterMs = Math.min(error.retryAfterMs ?? 0, LONGEST_PAUSE_MS);
        const obstacle = obstacleFrom(error, phase, type, namespace);
        const absence = await this.#absenceFrom(error).catch(() => undefined);
        if (absence) this.#skip(absence);
        else if (obstacle) this.#note(obstacle, error);
        else if (error instanceof KubeError && error.isThrottled && failures <= TOLERATED_THROTTLES)
          this.#options.log.info(
            { resource: type.plural, namespace, failures, error: error.message },
            `asked to repeat the ${phase} later`,
          );
        else this.#failures.warn(error, `${phase} failed; will resume`, { resource: type.plural, namespace, failures });
      }
      const pause = failures === 0 ? RETRY.firstMs * Math.random() : backoff(failures, RETRY);
      await this.#pause(Math.max(pause, retryAfterMs), signal);
    }
  }

  async #list(round: AbortSignal): Promise<void> {
    const { namespace, sink } = this.#options;
    this.#count('list');
    const objects: KubeObject[] = [];
    let version = '';
    for await (const page of this.#pages(namespace, AbortSignal.any([this.#stop.signal, round]))) {
      for (const item of page.items) objects.push(...sink.kept(item));
      version = page.resourceVersion;
    }
    round.throwIfAborted();
    this.#heard();
    sink.listed(objects, version);
    this.#version = version;
  }

  async *#pages(
    namespace: string | undefined,
    signal: AbortSignal,
    name?: string,
  ): AsyncGenerator<ObjectList, void, undefined> {
    const { type, labelSelector, metadataOnly } = this.#options;
    let continueToken: string | undefined;
    do {
      const options = { namespace, labelSelector, name, limit: PAGE_SIZE, continueToken, signal, metadataOnly };
      const page = await this.#api.list(type, options);
      yield page;
      continueToken = page.continueToken;
    } while (continueToken !== undefined);
  }

  async #watch(resourceVersion: string, round: AbortSignal): Promise<void> {
    const { type, namespace, labelSelector, silenceMs, metadataOnly, sink } = this.#options;
    const { shortest, longest } = WATCH_SECONDS;
    const timeoutSeconds = Math.round(shortest + Math.random() * (longest - shortest));
    const silent = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, round, silent.signal]);
    const alarm = setTimeout(() => silent.abort(), silenceMs);
    this.#count('watch');
    try {
      const options = { namespace, labelSelector, resourceVersion, timeoutSeconds, signal, metadataOnly };
      for await (const event of this.#api.watch(type, options)) {
        round.throwIfAborted();
        alarm.refresh();
        this.#events++;
        this.#heard();
        if (event.type === 'BOOKMARK') {
          this.#version = event.resourceVersion;
          continue;
        }
        if (event.type === 'DELETED') sink.deleted(event.object);
        else sink.changed(event.object);
        this.#version = event.object.metadata.resourceVersion;
      }
    } catch (error) {
      if (!silent.signal.aborted) throw error;
      this.#count('watch-silent');
    } finally {
      clearTimeout(alarm);
    }
  }

  /** Whether the error means that the namespace does not exist, or that its Roles went with it. */
  async #absenceFrom(error: unknown): Promise<Absence | undefined> {
    const { namespace, presence } = this.#options;
    if (namespace === undefined || !(error instanceof KubeError && error.isForbidden)) return undefined;
    return presence?.absenceOf(namespace);
  }

  /** Until the namespace can be listed, nothing waits for it. One that does not exist has no objects. */
  #skip(absence: Absence): void {
    if (absence === 'missing' && this.#absence !== absence) this.#options.sink.listed([], NEWER_THAN_ALL);
    this.#absence = absence;
    this.#obstacle = undefined;
    this.#version = undefined;
    this.#listed.resolve();
    this.#tried.resolve();
  }

  /** Logs it once, however often it is retried. */
  #note(obstacle: Obstacle, err: unknown): void {
    const isExpected = obstacle.kind === 'missing' && this.#options.isOptional;
    const isKnown = isExpected || this.#obstacle?.message === obstacle.message;
    this.#obstacle = obstacle;
    this.#absence = undefined;
    this.#tried.resolve();
    const { log, type, namespace } = this.#options;
    const about = { resource: type.plural, namespace };
    if (isKnown) log.debug({ err, ...about }, obstacle.message);
    // The response, a 404 in plain text, would only mislead.
    else if (obstacle.kind === 'missing') log.warn(about, obstacle.message);
    else log.error({ err, ...about }, obstacle.message);
  }

  #heard(): void {
    const { namespace, presence } = this.#options;
    if (this.#absence && namespace !== undefined) presence?.seen(namespace);
    this.#absence = undefined;
    this.#obstacle = undefined;
    this.#failures.succeeded();
    this.#lastHeard = Date.now();
  }

  #count(activity: 'list' | 'watch' | 'list-failed' | 'watch-failed' | 'watch-silent'): void {
    this.#options.metrics.watchActivity.inc({ resource: this.#options.type.plural, activity });
  }

  async #pause(ms: number, round: AbortSignal): Promise<void> {
    await delay(ms, undefined, { signal: AbortSignal.any([this.#stop.signal, round]) }).catch(() => {});
  }
}
