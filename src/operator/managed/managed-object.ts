/** One object on its way through one reconcile, and every way of writing it. Replaced by the answer to each write. */
import { ANNOTATION, FINALIZER } from '../contract/names.ts';
import { type Finding, mergeConditions, sameStatus } from '../kube/conditions.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { KubeApi } from '../kube/kube-api.ts';
import type { KubeEvent } from '../kube/kube-event.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import type { WatchCache } from '../kube/watch-cache.ts';
import type { ConnectedKind } from './connected-kind.ts';
import { StaleObject } from './external.ts';
import { type Identity, identityAnnotations } from './identity.ts';
import type { ManagedMetrics } from './metrics.ts';
import { hasFinalizer, readStatus } from './spec.ts';

/** Where the objects of one kind are read, written and reported on. */
export interface ObjectAccess {
  kind: ConnectedKind;
  kube: KubeApi;
  /** Takes in what was written, so that it is never older than our own writes. */
  cache: WatchCache;
  eventRecorder: EventRecorder;
  metrics: ManagedMetrics;
}

/** What a reconcile leaves to its controller. */
export interface Outcome {
  /** The object as last read or written; its version is the one that needs no further work. */
  object: KubeObject;
  /** When there is something to do without any change: a rotation, a revocation. */
  requeueAfterMs?: number;
}

export class ManagedObject {
  object: KubeObject;
  readonly kind: ConnectedKind;
  readonly metrics: ManagedMetrics;
  readonly #access: ObjectAccess;
  /** True once the API server itself, not a cache, has said what the object is. */
  #isFresh = false;

  constructor(object: KubeObject, access: ObjectAccess) {
    this.object = object;
    this.kind = access.kind;
    this.metrics = access.metrics;
    this.#access = access;
  }

  /** Finalizer and identity in one write. @throws KubeError (conflict) when the object has changed since it was read */
  async persist(identity: Identity, more: Record<string, string> = {}): Promise<void> {
    const finalizers = hasFinalizer(this.object)
      ? {}
      : { finalizers: [...(this.object.metadata.finalizers ?? []), FINALIZER] };
    await this.#patchMetadata({ ...finalizers, annotations: { ...identityAnnotations(identity), ...more } });
  }

  /** Lets the object go. */
  async removeFinalizer(): Promise<void> {
    await this.#patchMetadata({
      finalizers: this.object.metadata.finalizers?.filter((name) => name !== FINALIZER) ?? [],
    });
  }

  /** Writes the status only if it would say something new. Members of `about` that are undefined are removed. */
  async patchStatus(findings: Record<string, Finding>, about: Record<string, unknown> = {}): Promise<void> {
    const { name, namespace, uid, resourceVersion, generation = 0 } = this.object.metadata;
    const current = readStatus(this.object);
    const conditions = mergeConditions(current.conditions ?? [], findings, generation, new Date());
    const lastHandledReconcileAt = annotation(this.object, ANNOTATION.reconcileRequestedAt);
    const status: Record<string, unknown> = { ...current, ...about, lastHandledReconcileAt, conditions };
    if (sameStatus(status, current)) return;
    const removed = Object.keys(current).filter((key) => status[key] === undefined);
    const patch = { ...status, ...Object.fromEntries(removed.map((key) => [key, null])) };
    const body = { metadata: { uid, resourceVersion }, status: patch };
    this.#replace(await this.#access.kube.patch(this.kind.type, name, body, namespace, 'status'));
  }

  /** Makes sure that the cache did not lag behind. @throws StaleObject when it did; the cache then has the newest */
  async mustBeNewest(): Promise<void> {
    if (this.#isFresh) return;
    const { name, namespace, resourceVersion } = this.object.metadata;
    this.#replace(await this.#access.kube.get(this.kind.type, name, namespace));
    if (this.object.metadata.resourceVersion !== resourceVersion) {
      throw new StaleObject(`${namespace}/${name} was out of date`);
    }
  }

  /** A Kubernetes Event about the object. */
  recordEvent(type: KubeEvent['type'], reason: string, message: string): void {
    this.#access.eventRecorder.record(this.object, { type, reason, message });
  }

  outcome(due?: Date): Outcome {
    if (!due) return { object: this.object };
    return { object: this.object, requeueAfterMs: Math.max(0, due.getTime() - Date.now()) };
  }

  async #patchMetadata(metadata: Record<string, unknown>): Promise<void> {
    const { name, namespace, uid, resourceVersion } = this.object.metadata;
    const body = { metadata: { ...metadata, uid, resourceVersion } };
    this.#replace(await this.#access.kube.patch(this.kind.type, name, body, namespace));
  }

  #replace(answered: KubeObject): void {
    const { group, version } = this.kind.type;
    this.object = { ...answered, kind: this.kind.name, apiVersion: `${group}/${version}` };
    this.#isFresh = true;
    this.#access.cache.observe(this.object);
  }
}
