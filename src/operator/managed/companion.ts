/**
 * An object of another API group that an object has written for it: owned by it, and kept as the kind wants it. The cluster
 * need not have that group.
 */
import { isDeepStrictEqual } from 'node:util';
import { ANNOTATION, API_VERSION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { findCondition } from '../kube/conditions.ts';
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { KubeError, KubeUnreachableError } from '../kube/kube-error.ts';
import { annotation, type KubeObject, type OwnerReference } from '../kube/kube-object.ts';
import type { Finding } from './external.ts';
import { classify } from './failure.ts';
import { readIdentity } from './identity.ts';
import { readStatus } from './spec.ts';

/** What a kind may have written beside its resource. */
export interface Companion<Spec, R> {
  type: ResourceType;
  kind: string;
  /** The condition that says whether it was written. */
  condition: string;
  /** Its spec; undefined if there is to be none. */
  specFor(spec: Spec, remote: R): Record<string, unknown> | undefined;
}

/** What is known of the companions in the cluster, without asking the API server. */
export interface KnownCompanions {
  /** Whether one of this object is there. */
  has(object: KubeObject): boolean;
  /** One that was read or written: from now on its changes are noticed, but not this one. */
  observe(companion: KubeObject): void;
}

/** How the companion of an object is kept. */
export interface CompanionAccess {
  kube: KubeApi;
  known: KnownCompanions;
  companion: Pick<Companion<never, never>, 'type' | 'kind'>;
}

/**
 * Writes or deletes the companion of the object, which has its name. What belongs to something else is left alone. That it
 * cannot be written says nothing about the resource: that is a finding, too.
 * @param wanted undefined if there is to be none
 * @returns undefined if there is none and is to be none
 */
export async function ensureCompanion(
  access: CompanionAccess,
  object: KubeObject,
  wanted: Record<string, unknown> | undefined,
): Promise<Finding | undefined> {
  try {
    return await (wanted ? written(access, object, wanted) : removed(access, object));
  } catch (error) {
    // Something that the API server waits for may hang, and that only with companions.
    const isAnswer = error instanceof KubeError && classify(error).kind !== 'stale';
    if (!isAnswer && !(error instanceof KubeUnreachableError)) throw error;
    return { status: 'False', reason: REASON.companionRefused, message: error.message };
  }
}

async function written(
  { kube, known, companion: { type, kind } }: CompanionAccess,
  object: KubeObject,
  wanted: Record<string, unknown>,
): Promise<Finding> {
  const { name, namespace } = object.metadata;
  const existing = await kube.find(type, name, namespace);
  if (existing) known.observe(existing);
  const isFree = existing !== undefined && isOfPredecessor(existing, object);
  if (existing && !isOwned(existing, object) && !isFree) {
    const message = `${kind} ${name} exists and does not belong to this object: delete it, or rename this object`;
    return { status: 'False', reason: REASON.companionConflict, message };
  }
  if (!existing) {
    const created = await unlessMissing(kube.create(type, bodyFor(object, { type, kind }, wanted), namespace));
    if (!created) {
      const message = `the cluster has no ${type.plural}.${type.group}; install its CustomResourceDefinition`;
      return { status: 'False', reason: REASON.companionKindMissing, message };
    }
    known.observe(created);
  } else if (isFree || !isDeepStrictEqual(existing.spec, wanted)) {
    const { uid, resourceVersion } = existing.metadata;
    const ownership = isFree && {
      ownerReferences: [ownerReferenceTo(object)],
      annotations: { [ANNOTATION.externalId]: null },
    };
    const body = { metadata: { uid, resourceVersion, ...ownership }, spec: wanted };
    known.observe(await kube.patch(type, name, body, namespace));
  }
  return { status: 'True', reason: REASON.companionWritten, message: `Written to ${kind} ${name}` };
}

async function removed({ kube, companion: { type } }: CompanionAccess, object: KubeObject): Promise<undefined> {
  const { name, namespace } = object.metadata;
  const existing = await kube.find(type, name, namespace);
  if (existing && isOwned(existing, object)) {
    await kube.delete(type, name, namespace, { uid: existing.metadata.uid });
  }
}

/** Lets the companion outlive its object. @throws KubeError */
export async function releaseCompanion(
  { kube, companion: { type } }: CompanionAccess,
  object: KubeObject,
): Promise<void> {
  const { name, namespace, uid: owner } = object.metadata;
  const existing = await kube.find(type, name, namespace);
  const { uid, resourceVersion, ownerReferences = [] } = existing?.metadata ?? {};
  const others = ownerReferences.filter((reference) => reference.uid !== owner);
  if (others.length === ownerReferences.length) return;
  const annotations = { [ANNOTATION.externalId]: readIdentity(object).externalId };
  await kube.patch(type, name, { metadata: { uid, resourceVersion, ownerReferences: others, annotations } }, namespace);
}

/** Undefined if the cluster does not have the kind. */
async function unlessMissing(creation: Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await creation;
  } catch (error) {
    if (error instanceof KubeError && error.isNotFound) return undefined;
    throw error;
  }
}

/** Whether the status says that the object has a companion, or is to have one. */
export function showsCompanion(object: KubeObject, { condition }: Pick<Companion<never, never>, 'condition'>): boolean {
  const shown = findCondition(readStatus(object).conditions ?? [], condition);
  return shown !== undefined && shown.reason !== REASON.companionNotWanted;
}

/** Whether the companion belongs to the object. */
export const isOwned = (existing: KubeObject, { metadata: { uid } }: KubeObject) =>
  existing.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false;

/** Whether nobody owns it any more, since an earlier object of the same resource has left it behind. */
function isOfPredecessor(existing: KubeObject, object: KubeObject): boolean {
  const id = annotation(existing, ANNOTATION.externalId);
  return !existing.metadata.ownerReferences?.length && id !== undefined && id === readIdentity(object).externalId;
}

function ownerReferenceTo({ kind = '', metadata: { name, uid } }: KubeObject): OwnerReference {
  return { apiVersion: API_VERSION, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

function bodyFor(
  object: KubeObject,
  { type, kind }: Pick<Companion<never, never>, 'type' | 'kind'>,
  spec: Record<string, unknown>,
) {
  return {
    apiVersion: `${type.group}/${type.version}`,
    kind,
    metadata: { name: object.metadata.name, ownerReferences: [ownerReferenceTo(object)] },
    spec,
  };
}
