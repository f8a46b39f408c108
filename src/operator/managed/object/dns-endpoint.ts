/**
 * The DNSEndpoint of a ReservedDomain: the DNS records that the domain needs, for ExternalDNS to publish. It has the name of
 * its object, which owns it. The cluster need not have ExternalDNS.
 */
import { isDeepStrictEqual } from 'node:util';
import { ANNOTATION, API_VERSION } from '../../contract/names.ts';
import { CONDITION, REASON } from '../../contract/reasons.ts';
import { findCondition } from '../../kube/conditions.ts';
import type { KubeApi, ResourceType } from '../../kube/kube-api.ts';
import { KubeError, KubeUnreachableError } from '../../kube/kube-error.ts';
import { annotation, type KubeObject, keyOf, type OwnerReference } from '../../kube/kube-object.ts';
import type { ObjectChange } from '../../kube/object-store.ts';
import { WatchCache, type WatchCacheOptions } from '../../kube/watch-cache.ts';
import type { Finding } from '../declaration/external.ts';
import type { DnsRecord } from '../declaration/kind.ts';
import { readIdentity } from '../identity/identity.ts';
import { readStatus } from '../identity/recorded-status.ts';
import { classify } from './failure.ts';

export const DNS_ENDPOINTS: ResourceType = { group: 'externaldns.k8s.io', version: 'v1alpha1', plural: 'dnsendpoints' };

interface DnsEndpointsOptions
  extends Pick<WatchCacheOptions, 'namespaces' | 'presence' | 'isWatched' | 'silenceMs' | 'log' | 'metrics'> {
  type?: ResourceType;
}

export class DnsEndpoints {
  readonly watch: WatchCache;
  readonly #kube: KubeApi;
  readonly #type: ResourceType;

  constructor(kube: KubeApi, { type = DNS_ENDPOINTS, ...options }: DnsEndpointsOptions) {
    this.watch = new WatchCache(kube, { ...options, type, isOptional: true, metadataOnly: true, transform: bare });
    this.#kube = kube;
    this.#type = type;
  }

  /**
   * Writes the DNSEndpoint of the object, or deletes it if there are no records to publish. One that belongs to something
   * else is left alone. A refusal by the cluster does not fail the reconcile.
   * @returns what the condition DNSPublished says; undefined to remove it
   */
  async ensure(object: KubeObject, records: readonly DnsRecord[] | undefined): Promise<Finding | undefined> {
    try {
      if (records) return await this.#write(object, endpointSpec(records));
      await this.#remove(object);
      return undefined;
    } catch (error) {
      // An admission webhook for DNSEndpoints may hang: that Kubernetes does not respond need not concern anything else.
      const isRefusal = error instanceof KubeError && classify(error).kind !== 'stale';
      if (!isRefusal && !(error instanceof KubeUnreachableError)) throw error;
      return { status: 'False', reason: REASON.publishRefused, message: error.message };
    }
  }

  /** Lets the DNSEndpoint outlive its object: another object that adopts the domain takes it over. @throws KubeError */
  async release(object: KubeObject): Promise<void> {
    if (!this.#mayExist(object)) return;
    const { name, namespace, uid: owner } = object.metadata;
    const existing = await this.#kube.find(this.#type, name, namespace);
    if (!existing || !isOwned(existing, object)) return;
    const { uid, resourceVersion, ownerReferences = [] } = existing.metadata;
    const others = ownerReferences.filter((reference) => reference.uid !== owner);
    const annotations = { [ANNOTATION.externalId]: readIdentity(object).externalId };
    const body = { metadata: { uid, resourceVersion, ownerReferences: others, annotations } };
    await this.#kube.patch(this.#type, name, body, namespace);
  }

  async #write(object: KubeObject, spec: object): Promise<Finding> {
    const { name, namespace } = object.metadata;
    const existing = await this.#kube.find(this.#type, name, namespace);
    // From now on, its changes are noticed.
    if (existing) this.watch.observe(existing);
    const isFree = existing !== undefined && isReleased(existing, object);
    if (existing && !isFree && !isOwned(existing, object)) {
      const message = `DNSEndpoint ${name} exists and does not belong to this object: delete it, or rename this object`;
      return { status: 'False', reason: REASON.publishConflict, message };
    }
    const ownerReferences = [ownerReferenceTo(object)];
    if (!existing) {
      const apiVersion = `${this.#type.group}/${this.#type.version}`;
      const body = { apiVersion, kind: 'DNSEndpoint', metadata: { name, ownerReferences }, spec };
      const created = await this.#kube.create(this.#type, body, namespace).catch(undefinedIfNotFound);
      if (!created) return { status: 'False', reason: REASON.kindNotInstalled, message: NOT_INSTALLED };
      this.watch.observe(created);
    } else if (isFree || !isDeepStrictEqual(existing.spec, spec)) {
      const { uid, resourceVersion } = existing.metadata;
      const ownership = isFree && { ownerReferences, annotations: { [ANNOTATION.externalId]: null } };
      const body = { metadata: { uid, resourceVersion, ...ownership }, spec };
      this.watch.observe(await this.#kube.patch(this.#type, name, body, namespace));
    }
    return { status: 'True', reason: REASON.published, message: `Written to DNSEndpoint ${name}` };
  }

  async #remove(object: KubeObject): Promise<void> {
    if (!this.#mayExist(object)) return;
    const { name, namespace } = object.metadata;
    const existing = await this.#kube.find(this.#type, name, namespace);
    if (!existing || !isOwned(existing, object)) return;
    await this.#kube.delete(this.#type, name, namespace, { uid: existing.metadata.uid });
    this.watch.observeDelete(existing);
  }

  /** Saves most objects a call to the API server. */
  #mayExist(object: KubeObject): boolean {
    const known = this.watch.store.get(keyOf(object));
    return showsDnsPublished(object) || (known !== undefined && isOwned(known, object));
  }
}

const NOT_INSTALLED = `the cluster has no ${DNS_ENDPOINTS.plural}.${DNS_ENDPOINTS.group}; install its CustomResourceDefinition`;

/** The spec of a DNSEndpoint with these records. */
export function endpointSpec(records: readonly DnsRecord[]) {
  return {
    endpoints: records.map(({ name, type, target }) => ({ dnsName: name, recordType: type, targets: [target] })),
  };
}

/** Whether the last reconcile was asked to publish records. */
export function showsDnsPublished(object: KubeObject): boolean {
  return findCondition(readStatus(object).conditions ?? [], CONDITION.dnsPublished) !== undefined;
}

/** Whether more than the status has changed, which ExternalDNS writes. */
export function isEdit(change: ObjectChange): boolean {
  if (change.type !== 'updated') return true;
  const [before, after] = [change.previous.metadata, change.object.metadata];
  return before.generation !== after.generation || !isDeepStrictEqual(before.ownerReferences, after.ownerReferences);
}

function bare({ metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, ownerReferences } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion, generation, creationTimestamp, ownerReferences } };
}

const isOwned = (existing: KubeObject, { metadata: { uid } }: KubeObject) =>
  existing.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false;

/** Whether an earlier object of the same domain has left it behind. */
function isReleased(existing: KubeObject, object: KubeObject): boolean {
  const id = annotation(existing, ANNOTATION.externalId);
  return !existing.metadata.ownerReferences?.length && id !== undefined && id === readIdentity(object).externalId;
}

function ownerReferenceTo({ kind = '', metadata: { name, uid } }: KubeObject): OwnerReference {
  return { apiVersion: API_VERSION, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

function undefinedIfNotFound(error: unknown): undefined {
  if (!(error instanceof KubeError && error.isNotFound)) throw error;
}
