/** The object of one reconcile and every write to it. Each write's response replaces the object. */
import type { Manager } from '../../../resources/definition/manager.ts';
import { ANNOTATION, FINALIZER } from '../../contract/names.ts';
import { type EventReason, REASON } from '../../contract/reasons.ts';
import { mergeConditions, sameStatus } from '../../kube/conditions.ts';
import type { EventRecorder } from '../../kube/event-recorder.ts';
import type { KubeApi } from '../../kube/kube-api.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { KubeEvent } from '../../kube/kube-event.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import type { WatchCache } from '../../kube/watch-cache.ts';
import { type Finding, type Remote, type Renewal, StaleObject } from '../declaration/external.ts';
import { type ManagedSpec, readSpec } from '../declaration/spec.ts';
import { type Identity, identityAnnotations, startOverlaps } from '../identity/identity.ts';
import { type Cluster, managerOf } from '../identity/manager.ts';
import { hasFinalizer, NOT_OBSERVED, readStatus, type UsedInputs } from '../identity/recorded-status.ts';
import { earliest } from '../identity/schedule.ts';
import type { Claims } from '../knowledge/claims.ts';
import type { ReissueBackoff } from '../secrets/reissue-backoff.ts';
import { type MetadataPatch, requireMetadataKept } from './altered-metadata.ts';
import type { ConnectedKind } from './connected-kind.ts';
import type { DnsEndpoints } from './dns-endpoint.ts';
import type { ManagedMetrics } from './metrics.ts';
import { inUse, type ObjectConnection, type ObjectConnections } from './object-connections.ts';
import { requireNoIds } from './permissions.ts';

/** How the objects of one kind are read, written and reported on. */
export interface ObjectAccess {
  kind: ConnectedKind;
  claims: Claims;
  connections: ObjectConnections;
  kube: KubeApi;
  cluster: Cluster;
  /** Stores the response to each write, so that it is never older than our own writes. */
  cache: WatchCache;
  eventRecorder: EventRecorder;
  metrics: ManagedMetrics;
  /** Whether objects of the namespace may adopt and observe existing resources. */
  mayAdopt(namespace: string): boolean;
  /** Whether a handed-out value may have the rights of a user. */
  mayHandOutUserRights: boolean;
  reissueBackoff: ReissueBackoff;
  dnsEndpoints: DnsEndpoints;
}

/** The result of a reconcile. */
export interface Outcome {
  /** The object as last read or written; this version needs no further work. */
  object: KubeObject;
  /** Set if there is something to do later without any change: a rotation, a revocation. */
  requeueAfterMs?: number;
}

/** No event reports that a refused call is now allowed. */
const REFUSED_RETRY_MS = 60_000;

const FOREIGN_RECORDS =
  'the connection leads to an API that is neither that of the operator nor in its setting --connection-urls: set the records yourself';

/** Whether the spec of an object version has inputs; set once all of them were resolved. */
const resolved = new WeakMap<KubeObject, boolean>();
/** Object versions whose identity was compared with the API, as a requested reconcile demands. */
const compared = new WeakSet<KubeObject>();

export class ManagedObject {
  object: KubeObject;
  /** At the API of the object's connection. */
  readonly kind: ConnectedKind;
  readonly connection: ObjectConnection;
  readonly claims: Claims;
  readonly metrics: ManagedMetrics;
  /** The inputs that the spec was resolved with; undefined if it has none. */
  inputs: UsedInputs | undefined;
  /** A remark for the user about these inputs. */
  remark: string | undefined;
  /** Why the next create replaces a resource; reported once it has succeeded. */
  replaces: string | undefined;
  /** Why the next create reissues a value; undefined for the first create, and if an earlier reconcile began it. */
  reissued: Renewal['cause'] | 'gone' | undefined;
  /** Whether this reconcile has found that a new value can be stored. */
  isDeliverable = false;
  readonly #access: ObjectAccess;
  #isCompared: boolean;
  #retryAt: Date | undefined;
  /** True once the object comes from the API server itself, not from a cache. */
  #isFresh = false;

  constructor(object: KubeObject, access: ObjectAccess) {
    this.object = object;
    this.connection = access.connections.of(object);
    this.kind = access.kind.through(this.connection.client);
    this.claims = access.claims;
    this.metrics = access.metrics;
    this.#access = access;
    this.#isCompared = compared.has(object);
  }

  /** @throws Blocked if nothing says which connection to use, or the object may not use that one */
  requireConnection(): void {
    if (this.connection.problem) throw this.connection.problem;
  }

  /**
   * Whoever creates an object together with its connection means it to use that.
   * @throws StaleObject if the object would use another connection than was known; KubeError, KubeUnreachableError
   */
  async confirmConnection(): Promise<void> {
    const { connections } = this.#access;
    await connections.catchUp(this.object);
    if (connections.of(this.object).key !== this.connection.key) throw new StaleObject('it has a connection by now');
  }

  /** For an object that is a connection itself. @throws Blocked naming the objects that use it */
  requireUnused(): void {
    const users = this.#access.connections.using?.(this.object) ?? [];
    if (users.length > 0) throw inUse(users);
  }

  /** Marks the requested reconcile as handled, even if a later step fails. */
  noteCompared(): void {
    this.#isCompared = true;
    compared.add(this.object);
  }

  /**
   * The spec with its inputs resolved.
   * @throws Blocked naming every invalid field, or an input that is missing or not permitted
   */
  async readSpec(): Promise<ManagedSpec> {
    const declared = this.kind.specIfValid(this.object) ?? readSpec(this.kind.declared.spec, this.object);
    if (!this.mayAdopt) requireNoIds(this.object);
    const { spec, inputs, remark } = await this.kind.inputs.resolve(this.kind.name, this.object, declared);
    this.inputs = inputs;
    this.remark = remark;
    resolved.set(this.object, inputs !== undefined);
    return spec;
  }

  /**
   * Writes finalizer and identity in one patch. The identity that records a successor starts the overlap of what it replaces.
   * @throws KubeError (conflict) when the object has changed since it was read
   * @throws Blocked when it was not stored as written
   */
  async persist(identity: Identity, more: Record<string, string | null> = {}): Promise<void> {
    const finalizers = hasFinalizer(this.object)
      ? {}
      : { finalizers: [...(this.object.metadata.finalizers ?? []), FINALIZER] };
    const recorded = startOverlaps(identity, this.kind.now());
    const { record } = this.connection;
    const connection = record === undefined ? {} : { [ANNOTATION.connection]: record };
    const annotations = { ...identityAnnotations(recorded), ...connection, ...more };
    await this.#patchMetadata({ ...finalizers, annotations });
  }

  /** Lets Kubernetes delete the object. */
  async removeFinalizer(): Promise<void> {
    await this.#patchMetadata({
      finalizers: this.object.metadata.finalizers?.filter((name) => name !== FINALIZER) ?? [],
    });
  }

  /** Writes the status only if that changes it. Undefined findings and undefined members of `about` are removed. */
  async writeStatus(findings: Record<string, Finding | undefined>, about: Record<string, unknown> = {}): Promise<void> {
    const { name, namespace, uid, resourceVersion, generation = 0 } = this.object.metadata;
    const current = readStatus(this.object);
    const conditions = mergeConditions(current.conditions ?? [], findings, generation, new Date());
    const requested = annotation(this.object, ANNOTATION.reconcileRequestedAt);
    const lastHandledReconcileAt = this.#isCompared ? requested : current.lastHandledReconcileAt;
    const before = { observedGeneration: NOT_OBSERVED, ...current };
    // The connection belongs to the id.
    const connection = about.id === undefined ? {} : { connection: this.connection.record };
    const status: Record<string, unknown> = { ...before, ...about, ...connection, lastHandledReconcileAt, conditions };
    if (sameStatus(current, status)) return;
    // No patch: for one the API server would encode and decode the whole object once more.
    const body = { ...this.#typeMeta, metadata: { name, namespace, uid, resourceVersion }, status };
    this.#replace(await this.#access.kube.replace(this.kind.type, name, body, namespace, 'status'));
  }

  /** Whether the spec has inputs; undefined if no reconcile of this version could resolve them. */
  get tookInputs(): boolean | undefined {
    return resolved.get(this.object);
  }

  get mayAdopt(): boolean {
    return this.#access.mayAdopt(this.object.metadata.namespace ?? '');
  }

  get cluster(): Cluster {
    return this.#access.cluster;
  }

  /** In whose name its resource is changed. */
  get manager(): Manager {
    return managerOf(this.object, this.kind.name, this.#access.cluster);
  }

  /** Whether the manager is one of the objects that the cache has. */
  knows({ id, namespace, kind, name }: Manager): boolean {
    const found = kind === this.kind.name ? this.#access.cache.store.get(`${namespace}/${name}`) : undefined;
    return found !== undefined && managerOf(found, kind, this.cluster).id === id;
  }

  /** Whether a manager of this cluster no longer exists; false if it may not be looked for. */
  async isGone({ id, namespace, kind, name }: Manager): Promise<boolean> {
    if (kind !== this.kind.name) return false;
    try {
      const found = await this.#access.kube.find(this.kind.type, name, namespace);
      return found === undefined || managerOf(found, kind, this.cluster).id !== id;
    } catch (error) {
      if (error instanceof KubeError && error.isForbidden) return false;
      throw error;
    }
  }

  get reissueBackoff(): ReissueBackoff {
    return this.#access.reissueBackoff;
  }

  get mayHandOutUserRights(): boolean {
    return this.#access.mayHandOutUserRights;
  }

  /** Checks that the cached object is the newest. @throws StaleObject if not; the cache then has the newest version */
  async mustBeNewest(): Promise<void> {
    if (this.#isFresh) return;
    const { name, namespace, resourceVersion } = this.object.metadata;
    this.#replace(await this.#access.kube.get(this.kind.type, name, namespace));
    if (this.object.metadata.resourceVersion !== resourceVersion) {
      throw new StaleObject(`${namespace}/${name} was out of date`);
    }
  }

  /** Publishes the DNS records of the resource if the spec asks for it; returns the finding for the condition. */
  async publishDnsRecords(spec: ManagedSpec, remote: Remote): Promise<Finding | undefined> {
    const { declared } = this.kind;
    // An object that only observes leaves its published records alone.
    if (!declared.dnsRecords || spec.managementPolicy === 'Observe') return undefined;
    const records = declared.dnsRecords(spec, remote);
    const isRefused = records !== undefined && this.connection.isForeign === true;
    const finding = await this.#access.dnsEndpoints.ensure(this.object, isRefused ? undefined : records);
    if (isRefused) return { status: 'False', reason: REASON.publishRefused, message: FOREIGN_RECORDS };
    if (finding?.reason === REASON.publishRefused) this.retryRefused();
    return finding;
  }

  /** Lets the DNSEndpoint outlive the object. */
  async releaseDnsEndpoint(): Promise<void> {
    if (this.kind.declared.dnsRecords) await this.#access.dnsEndpoints.release(this.object);
  }

  /** Records a Kubernetes Event about the object. */
  recordEvent(type: KubeEvent['type'], reason: EventReason, message: string): void {
    this.#access.eventRecorder.record(this.object, { type, reason, message });
  }

  retryRefused(): void {
    this.retry(new Date(this.kind.now().getTime() + REFUSED_RETRY_MS));
  }

  /** Has the object reconciled again by then, although the reconcile does not fail. */
  retry(at: Date): void {
    this.#retryAt = earliest(this.#retryAt, at);
  }

  /** When to retry a refused step that did not fail the reconcile. */
  get retryAt(): Date | undefined {
    return this.#retryAt;
  }

  outcome(due?: Date): Outcome {
    if (!due) return { object: this.object };
    return { object: this.object, requeueAfterMs: Math.max(0, due.getTime() - this.kind.now().getTime()) };
  }

  async #patchMetadata(metadata: MetadataPatch): Promise<void> {
    const { name, namespace, uid, resourceVersion } = this.object.metadata;
    const body = { metadata: { ...metadata, uid, resourceVersion } };
    this.#replace(await this.#access.kube.patch(this.kind.type, name, body, namespace));
    requireMetadataKept(metadata, this.object);
  }

  get #typeMeta(): { kind: string; apiVersion: string } {
    const { group, version } = this.kind.type;
    return { kind: this.kind.name, apiVersion: `${group}/${version}` };
  }

  #replace(written: KubeObject): void {
    const spec = (isOfSameSpec(this.object, written) && this.object.spec) || written.spec;
    this.object = { ...written, spec, ...this.#typeMeta };
    this.#isFresh = true;
    this.#access.cache.observe(this.object);
  }
}

/** Whether the spec of `a` can be kept for `b`: the kind knows its parsed form by that object. */
function isOfSameSpec({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  return a.uid === b.uid && a.generation !== undefined && a.generation === b.generation;
}
