/** One object on its way through one reconcile, and every way of writing it. Replaced by the answer to each write. */
import { ANNOTATION, FINALIZER } from '../contract/names.ts';
import { type Finding, mergeConditions, sameStatus } from '../kube/conditions.ts';
import type { EventRecorder, KubeEvent } from '../kube/event-recorder.ts';
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { StaleObject } from './external.ts';
import { type Identity, identityAnnotations } from './identity.ts';
import { hasFinalizer, readStatus } from './spec.ts';

export interface Writer {
  kind: string;
  type: ResourceType;
  kube: KubeApi;
  events: Pick<EventRecorder, 'record'>;
  /** Takes in what was written, so that the cache is never older than our own writes. */
  observeWrite: (written: KubeObject) => void;
  now: () => Date;
}

export class Work {
  object: KubeObject;
  readonly #writer: Writer;
  /** True once the API server itself, not a cache, has said what the object is. */
  #isFresh = false;

  constructor(object: KubeObject, writer: Writer) {
    this.object = object;
    this.#writer = writer;
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
    const conditions = mergeConditions(current.conditions ?? [], findings, generation, this.#writer.now());
    const lastHandledReconcileAt = annotation(this.object, ANNOTATION.reconcileRequestedAt);
    const status: Record<string, unknown> = { ...current, ...about, lastHandledReconcileAt, conditions };
    if (sameStatus(status, current)) return;
    const removed = Object.keys(current).filter((key) => status[key] === undefined);
    const patch = { ...status, ...Object.fromEntries(removed.map((key) => [key, null])) };
    const body = { metadata: { uid, resourceVersion }, status: patch };
    const { kube, type } = this.#writer;
    this.#take(await kube.patch(type, name, body, namespace, 'status'));
  }

  /** Makes sure that the cache did not lag behind. @throws StaleObject when it did; the cache then has the newest */
  async mustBeNewest(): Promise<void> {
    if (this.#isFresh) return;
    const { name, namespace, resourceVersion } = this.object.metadata;
    const known = resourceVersion;
    this.#take(await this.#writer.kube.get(this.#writer.type, name, namespace));
    if (this.object.metadata.resourceVersion !== known) throw new StaleObject(`${namespace}/${name} was out of date`);
  }

  record(type: KubeEvent['type'], reason: string, message: string): void {
    this.#writer.events.record(this.object, { type, reason, message });
  }

  async #patchMetadata(metadata: Record<string, unknown>): Promise<void> {
    const { name, namespace, uid, resourceVersion } = this.object.metadata;
    const body = { metadata: { ...metadata, uid, resourceVersion } };
    this.#take(await this.#writer.kube.patch(this.#writer.type, name, body, namespace));
  }

  #take(object: KubeObject): void {
    const { kind, type } = this.#writer;
    this.object = { ...object, kind, apiVersion: `${type.group}/${type.version}` };
    this.#isFresh = true;
    this.#writer.observeWrite(this.object);
  }
}
