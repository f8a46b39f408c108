/**
 * Detects changes made in the API by listing each family from time to time. Only the objects that differ are
 * reconciled.
 */
import type { Logger } from 'pino';
import type { Client } from '../../client/client.ts';
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
import type { ObjectConnections } from '../managed/object/object-connections.ts';
import type { ControllerMetrics } from './metrics.ts';
import type { WorkQueue } from './work-queue.ts';

/** Delay after a failed comparison, for example because the API was still starting. */
const RETRY_MS = 15_000;
/** Connections whose objects are compared at a time: one that hangs must not hold up the others. */
const LISTS_AT_ONCE = 4;

/** The part of a kind that a resync needs. */
export interface ResyncKind
  extends ComparableKind,
    Pick<ConnectedKind, 'name' | 'comparableSpec' | 'looksHeld' | 'now' | 'refreshAt' | 'renewsAt'> {
  external: Pick<External<ManagedSpec, Remote>, 'all' | 'changes'>;
  through(client: Client): Omit<ResyncKind, 'through'>;
}
type KindThere = ReturnType<ResyncKind['through']>;

export interface ResyncOptions {
  kind: ResyncKind;
  connections: Pick<ObjectConnections, 'of'>;
  store: Pick<ObjectStore, 'get' | 'values'>;
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
  /** The connections whose objects were compared before. */
  readonly #compared = new Set<string>();
  /** Those whose last comparison failed; only they are compared again soon. */
  #failed: ReadonlySet<string> | undefined;
  #everythingAt = 0;

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
    const { everyMs } = this.#options;
    const now = performance.now();
    // Only those that failed, until it is time for all of them.
    const again = now < this.#everythingAt ? this.#failed : undefined;
    if (!again) this.#everythingAt = now + jittered(everyMs, 0.1);
    const failed = await this.#compareAll(again);
    this.#failed = failed;
    const left = Math.max(0, this.#everythingAt - performance.now());
    this.#schedule(failed.size > 0 ? Math.min(left, jittered(RETRY_MS, 0.1)) : left);
  }

  /** @returns the connections whose objects could not be compared */
  async #compareAll(only: ReadonlySet<string> | undefined): Promise<Set<string>> {
    const { kind, connections, store, metrics } = this.#options;
    const failed = new Set<string>();
    // Grouped first: a kind without objects needs no list, and the API key may not be allowed to read it.
    const groups = Map.groupBy(store.values(), (object) => connections.of(object));
    const left = [...groups].filter(([{ key, problem }]) => !problem && (!only || only.has(key)));
    const run = async () => {
      for (let group = left.pop(); group !== undefined && !this.#isStopping; group = left.pop()) {
        const [{ key, client }, objects] = group;
        try {
          await this.#compare(kind.through(client), key, objects);
        } catch (error) {
          failed.add(key);
          const about = { kind: kind.name, ...(key !== '' && { connection: key }) };
          this.#failures.warn(error, 'resync with the management API failed; will retry', about);
        }
      }
    };
    await Promise.all(Array.from({ length: LISTS_AT_ONCE }, run));
    if (failed.size === 0) this.#failures.succeeded();
    if (!this.#isStopping) metrics.resyncs.inc({ kind: kind.name, result: failed.size === 0 ? 'success' : 'error' });
    return failed;
  }

  async #compare(kind: KindThere, connection: string, objects: readonly KubeObject[]): Promise<void> {
    const { store, queue, tracing } = this.#options;
    const ids = new Set(objects.flatMap(idsCompared));
    const remotes = await traced(tracing, { name: `resync ${kind.name}` }, () => this.#list(kind, ids));
    if (this.#isStopping) return;
    for (const object of objects) {
      // An object that changed during the listing is reconciled anyway, and the list may be older than it.
      if (store.get(keyOf(object))?.metadata.resourceVersion !== object.metadata.resourceVersion) continue;
      const spec = kind.comparableSpec(object);
      // The list does not show whether Secrets are intact. The start has checked them, so only later rounds queue their objects.
      const isLost =
        this.#compared.has(connection) && wasInSync(readStatus(object), object) && !kind.looksHeld(object, spec);
      if (isLost || differs(kind, spec, object, remotes)) queue.add(keyOf(object));
      else this.#plan(kind, object, spec, remotes.get(readStatus(object).id ?? ''));
    }
    this.#compared.add(connection);
  }

  /** Plans anew: the reconcile that planned it may have run in another process. */
  #plan(kind: KindThere, object: KubeObject, spec: ManagedSpec | undefined, remote: Remote | undefined): void {
    if (!remote) return;
    const { queue } = this.#options;
    const now = kind.now();
    const isInSync = spec !== undefined && wasInSync(readStatus(object), object);
    const renewsAt = isInSync ? kind.renewsAt(object, spec, remote, now) : undefined;
    const at = earliest(renewsAt, kind.refreshAt(remote, now));
    if (at) queue.addAfter(keyOf(object), at.getTime() - now.getTime());
  }

  async #list(kind: KindThere, ids: ReadonlySet<string>): Promise<Map<string, Remote>> {
    const remotes = new Map<string, Remote>();
    for await (const remote of kind.external.all(ids)) {
      if (this.#isStopping) break;
      // Most resources of an API may have no object here.
      if (ids.has(remote.id)) remotes.set(remote.id, remote);
    }
    return remotes;
  }
}
