/**
 * Detects changes made in the API by listing each family from time to time. Only the objects that differ are
 * reconciled.
 */
import type { Logger } from 'pino';
import { jittered } from '../../retry/backoff.ts';
import { type Tracing, traced } from '../../tracing/tracing.ts';
import { FailureLog } from '../kube/failure-log.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import type { ObjectStore } from '../kube/object-store.ts';
import type { External, Remote } from '../managed/declaration/external.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { readStatus, wasInSync } from '../managed/identity/recorded-status.ts';
import { earliest } from '../managed/identity/schedule.ts';
import type { ConnectedKind } from '../managed/object/connected-kind.ts';
import { type ComparableKind, differs, idsCompared } from '../managed/object/drift.ts';
import type { ControllerMetrics } from './metrics.ts';
import type { WorkQueue } from './work-queue.ts';

/** Delay after a failed comparison, for example because the API was still starting. */
const RETRY_MS = 15_000;

/** The part of a kind that a resync needs. */
export interface ResyncKind
  extends ComparableKind,
    Pick<ConnectedKind, 'name' | 'comparableSpec' | 'looksHeld' | 'now' | 'refreshAt' | 'renewsAt'> {
  external: Pick<External<ManagedSpec, Remote>, 'all' | 'changes'>;
}

export interface ResyncOptions {
  kind: ResyncKind;
  store: Pick<ObjectStore, 'values'>;
  queue: WorkQueue;
  everyMs: number;
  metrics: ControllerMetrics;
  tracing?: Tracing | undefined;
  log: Logger;
}

export class Resync {
  readonly #options: ResyncOptions;
  readonly #failures: FailureLog;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopping = false;
  #hasCompared = false;

  constructor(options: ResyncOptions) {
    this.#options = options;
    this.#failures = new FailureLog(options.log);
  }

  start(): void {
    this.#schedule(0);
  }

  /** Resolves when the comparison in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(ms: number): void {
    if (this.#isStopping) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, ms);
  }

  async #run(): Promise<void> {
    const { kind, everyMs, metrics } = this.#options;
    let nextMs = everyMs;
    try {
      await this.#compare();
      this.#failures.succeeded();
      if (!this.#isStopping) metrics.resyncs.inc({ kind: kind.name, result: 'success' });
    } catch (error) {
      nextMs = Math.min(everyMs, RETRY_MS);
      metrics.resyncs.inc({ kind: kind.name, result: 'error' });
      this.#failures.warn(error, 'resync with the management API failed; will retry', { kind: kind.name });
    }
    this.#schedule(jittered(nextMs, 0.1));
  }

  async #compare(): Promise<void> {
    const { kind, store, queue, tracing } = this.#options;
    const objects = [...store.values()];
    const before = new Map(objects.map((object) => [object.metadata.uid, versionOf(object)]));
    // A kind without objects needs no list, and the operator's API key may not be allowed to read it.
    if (before.size === 0) return;
    const ids = new Set(objects.flatMap(idsCompared));
    const remotes = await traced(tracing, { name: `resync ${kind.name}` }, () => this.#list(ids));
    if (this.#isStopping) return;
    for (const object of store.values()) {
      // An object that changed during the listing is reconciled anyway, and the list may be older than it.
      if (before.get(object.metadata.uid) !== versionOf(object)) continue;
      const spec = kind.comparableSpec(object);
      // The list does not show whether Secrets are intact. The start has checked them, so only later rounds queue their objects.
      const isLost = this.#hasCompared && wasInSync(readStatus(object), object) && !kind.looksHeld(object, spec);
      if (isLost || differs(kind, spec, object, remotes)) queue.add(keyOf(object));
      else this.#plan(object, spec, remotes.get(readStatus(object).id ?? ''));
    }
    this.#hasCompared = true;
  }

  /** Plans anew: the reconcile that planned it may have run in another process. */
  #plan(object: KubeObject, spec: ManagedSpec | undefined, remote: Remote | undefined): void {
    if (!remote) return;
    const { kind, queue } = this.#options;
    const now = kind.now();
    const isInSync = spec !== undefined && wasInSync(readStatus(object), object);
    const renewsAt = isInSync ? kind.renewsAt(object, spec, remote, now) : undefined;
    const at = earliest(renewsAt, kind.refreshAt(remote, now));
    if (at) queue.addAfter(keyOf(object), at.getTime() - now.getTime());
  }

  async #list(ids: ReadonlySet<string>): Promise<Map<string, Remote>> {
    const remotes = new Map<string, Remote>();
    for await (const remote of this.#options.kind.external.all(ids)) {
      if (this.#isStopping) break;
      // Most resources of an API may have no object here.
      if (ids.has(remote.id)) remotes.set(remote.id, remote);
    }
    return remotes;
  }
}

function versionOf(object: KubeObject): string {
  return object.metadata.resourceVersion;
}
