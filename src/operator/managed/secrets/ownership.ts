/** Which object a Secret belongs to. Pure. */
import { ANNOTATION, SECRET_TYPE } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject, OwnerReference } from '../../kube/kube-object.ts';
import type { ObjectChange } from '../../kube/object-store.ts';
import { Blocked } from '../external.ts';
import { readIdentity } from '../identity.ts';
import { readStatus } from '../spec.ts';
import { credentialIn } from './data.ts';

/** The object that owns a Secret, as the Secret names it. */
export interface SecretOwner {
  kind: string;
  namespace: string;
  name: string;
}

/** @throws Blocked when the Secret belongs to something else, or holds a token that is not this object's */
export function mustBeOurs(existing: KubeObject, object: KubeObject, id?: string): void {
  if (isOwnedBy(existing, object) || isOfPredecessor(existing, object)) return;
  const { externalId, retiring } = readIdentity(object);
  const held =
    existing.type === SECRET_TYPE && !existing.metadata.ownerReferences?.length ? credentialIn(existing) : undefined;
  if (held !== undefined && [id, externalId, ...retiring.map((entry) => entry.id)].includes(held)) return;
  const { name } = existing.metadata;
  const remedy = held
    ? `and holds the token of ${held}: set the annotation ${ANNOTATION.adopt} to that id, delete the Secret, or set spec.secret.name`
    : 'but does not belong to this object: delete it, or set spec.secret.name';
  throw new Blocked(REASON.secretConflict, `Secret ${name} exists ${remedy}`);
}

export function isOwnedBy(existing: KubeObject, object: KubeObject): boolean {
  return existing.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) ?? false;
}

/** A Secret restored from a backup: of our type, and owned by an object of this name under an earlier UID. */
function isOfPredecessor(existing: KubeObject, object: KubeObject): boolean {
  const owners = existing.metadata.ownerReferences ?? [];
  const isPredecessor = (owner: OwnerReference) => owner.kind === object.kind && owner.name === object.metadata.name;
  return existing.type === SECRET_TYPE && owners.length > 0 && owners.every(isPredecessor);
}

/**
 * The names other than `name` under which the object may have a Secret: the one in the status and, since a crash can
 * come before the status is written, all those that it owns (`owned`).
 */
export function formerNames(object: KubeObject, owned: readonly string[], name: string | undefined): string[] {
  const { secretName } = readStatus(object);
  const known = typeof secretName === 'string' ? [secretName] : [];
  return [...new Set([...known, ...owned])].filter((former) => former !== name);
}

/** The UIDs of all owners of the Secret. */
export function ownerUids(secret: KubeObject | undefined): Set<string> {
  return new Set(secret?.metadata.ownerReferences?.map(({ uid }) => uid));
}

/** The owners of the Secret before and after the change: the former owner must restore a Secret that it loses. */
export function ownersOfChange(change: ObjectChange): SecretOwner[] {
  const versions = change.type === 'updated' ? [change.previous, change.object] : [change.object];
  return [...new Map(versions.flatMap(controllerOf)).values()];
}

/** Empty for a Secret without a controller. */
function controllerOf({ metadata }: KubeObject): [uid: string, owner: SecretOwner][] {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller);
  return owner ? [[owner.uid, { kind: owner.kind, name: owner.name, namespace: metadata.namespace ?? '' }]] : [];
}
