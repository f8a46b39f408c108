/** Whose a Secret is. Pure. */
import { ANNOTATION, SECRET_TYPE } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject, OwnerReference } from '../../kube/kube-object.ts';
import type { ObjectChange } from '../../kube/object-store.ts';
import { Blocked } from '../external.ts';
import { readIdentity } from '../identity.ts';
import { readStatus } from '../spec.ts';
import { credentialIn } from './data.ts';

/** An object that has a Secret, as the Secret names it. */
export interface SecretOwner {
  kind: string;
  namespace: string;
  name: string;
}

/** @throws Blocked when the Secret is somebody else's, or has a token that this object knows nothing of */
export function mustBeOurs(existing: KubeObject, object: KubeObject, id?: string): void {
  if (isOwnedBy(existing, object) || isOfPredecessor(existing, object)) return;
  const { externalId, retiring } = readIdentity(object);
  const held =
    existing.type === SECRET_TYPE && !existing.metadata.ownerReferences?.length ? credentialIn(existing) : undefined;
  if (held !== undefined && [id, externalId, ...retiring.map((entry) => entry.id)].includes(held)) return;
  const { name } = existing.metadata;
  const remedy = held
    ? `has the token of ${held}: set the annotation ${ANNOTATION.adopt} to that, delete the Secret, or set spec.secret.name`
    : 'does not belong to this object; delete it or set spec.secret.name';
  throw new Blocked(REASON.secretConflict, `Secret ${name} exists and ${remedy}`);
}

export function isOwnedBy(existing: KubeObject, object: KubeObject): boolean {
  return existing.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) ?? false;
}

/** Of our type, and of an object of the same name: restored from a backup, with this object under a new UID. */
function isOfPredecessor(existing: KubeObject, object: KubeObject): boolean {
  const owners = existing.metadata.ownerReferences ?? [];
  const isPredecessor = (owner: OwnerReference) => owner.kind === object.kind && owner.name === object.metadata.name;
  return existing.type === SECRET_TYPE && owners.length > 0 && owners.every(isPredecessor);
}

/**
 * Names other than `name` under which the object may have a Secret: the one that the status knows, and, since a crash
 * can come before the status, every one that is its own (`owned`).
 */
export function formerNames(object: KubeObject, owned: readonly string[], name: string | undefined): string[] {
  const { secretName } = readStatus(object);
  const known = typeof secretName === 'string' ? [secretName] : [];
  return [...new Set([...known, ...owned])].filter((former) => former !== name);
}

/** UIDs of all that the Secret belongs to. */
export function ownerUids(secret: KubeObject | undefined): Set<string> {
  return new Set(secret?.metadata.ownerReferences?.map(({ uid }) => uid));
}

/** Whose the changed Secret is, and whose it was: one that is taken from its owner must come back to it. */
export function ownersOfChange(change: ObjectChange): SecretOwner[] {
  const versions = change.type === 'updated' ? [change.previous, change.object] : [change.object];
  return [...new Map(versions.flatMap(controllerOf)).values()];
}

/** None for a Secret that is nobody's. */
function controllerOf({ metadata }: KubeObject): [uid: string, owner: SecretOwner][] {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller);
  return owner ? [[owner.uid, { kind: owner.kind, name: owner.name, namespace: metadata.namespace ?? '' }]] : [];
}
