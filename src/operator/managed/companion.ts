/**
 * An object of another API group that an object has written for it: owned by it, and kept as the kind wants it. The cluster
 * need not have that group.
 */
import { isDeepStrictEqual } from 'node:util';
import { API_VERSION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { findCondition } from '../kube/conditions.ts';
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { Finding } from './external.ts';
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

/**
 * Writes or deletes the companion of the object, which has its name. What belongs to something else is left alone.
 * @param mayExist whether one may be left from before
 * @returns undefined if there is none and is to be none
 */
export async function ensureCompanion(
  kube: KubeApi,
  object: KubeObject,
  { type, kind }: Pick<Companion<never, never>, 'type' | 'kind'>,
  wanted: Record<string, unknown> | undefined,
  mayExist: boolean,
): Promise<Finding | undefined> {
  if (!wanted && !mayExist) return undefined;
  const { name, namespace } = object.metadata;
  const existing = await kube.find(type, name, namespace);
  if (!wanted) {
    if (existing && isOwned(existing, object)) {
      await kube.delete(type, name, namespace, { uid: existing.metadata.uid });
    }
    return undefined;
  }
  if (existing && !isOwned(existing, object)) {
    const message = `${kind} ${name} exists and does not belong to this object: delete it, or rename this object`;
    return { status: 'False', reason: REASON.companionConflict, message };
  }
  try {
    if (!existing) await kube.create(type, bodyFor(object, { type, kind }, wanted), namespace);
    else if (!isDeepStrictEqual(existing.spec, wanted)) {
      const { uid, resourceVersion } = existing.metadata;
      await kube.patch(type, name, { metadata: { uid, resourceVersion }, spec: wanted }, namespace);
    }
  } catch (error) {
    if (!(error instanceof KubeError && error.isNotFound)) throw error;
    const message = `the cluster has no ${type.plural}.${type.group}; install its CustomResourceDefinition`;
    return { status: 'False', reason: REASON.companionKindMissing, message };
  }
  return { status: 'True', reason: REASON.companionWritten, message: `Written to ${kind} ${name}` };
}

/** Whether the object was left without its companion since the cluster did not have the kind. */
export function lacksCompanion(object: KubeObject, { condition }: Pick<Companion<never, never>, 'condition'>): boolean {
  return findCondition(readStatus(object).conditions ?? [], condition)?.reason === REASON.companionKindMissing;
}

const isOwned = (existing: KubeObject, { metadata: { uid } }: KubeObject) =>
  existing.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false;

function bodyFor(
  { kind: ownerKind, metadata: { name, uid } }: KubeObject,
  { type, kind }: Pick<Companion<never, never>, 'type' | 'kind'>,
  spec: Record<string, unknown>,
) {
  const owner = { apiVersion: API_VERSION, kind: ownerKind, name, uid, controller: true, blockOwnerDeletion: true };
  return {
    apiVersion: `${type.group}/${type.version}`,
    kind,
    metadata: { name, ownerReferences: [owner] },
    spec,
  };
}
