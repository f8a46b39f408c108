/** Which object a Secret belongs to. */
import { sha256Hex } from '../../../resources/formats/sha256.ts';
import { ANNOTATION } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject, OwnerReference } from '../../kube/kube-object.ts';
import type { ObjectChange } from '../../kube/object-store.ts';
import { Blocked } from '../declaration/external.ts';
import type { Handout } from '../declaration/handout.ts';
import { claimedId, namesNoResource, readIdentity } from '../identity/identity.ts';
import { readStatus } from '../identity/recorded-status.ts';
import { idIn } from './data.ts';

/** The object that owns a Secret, as the Secret names it. */
export interface SecretOwner {
  kind: string;
  namespace: string;
  name: string;
}

/** Whether the object may write the Secret: not if it has another owner, or holds the value of another resource. */
export function isOurs(handout: Handout, existing: KubeObject, object: KubeObject, id?: string): boolean {
  if (isOwnedBy(existing, object) || isOfPredecessor(handout, existing, object)) return true;
  const { externalId, retiring } = readIdentity(object);
  const held = releasedId(handout, existing);
  return held !== undefined && [id, externalId, ...retiring.map((entry) => entry.id)].includes(held);
}

/** The same according to the cache. The object may be yet to adopt the resource. */
export function looksOurs(
  handout: Handout,
  { object: existing, digests }: { object: KubeObject; digests: Readonly<Record<string, string>> },
  object: KubeObject,
): boolean {
  if (existing.type !== handout.secretType) return false;
  if (isOwnedBy(existing, object) || isOfPredecessor(handout, existing, object)) return true;
  const id = claimedId(object);
  return id !== undefined && isReleased(handout, existing) && digests[handout.idKey] === sha256Hex(id);
}

/** Whether the operator wrote the Secret and has since removed its owner. */
export function isReleased({ secretType }: Handout, { type, metadata }: KubeObject): boolean {
  return type === secretType && !metadata.ownerReferences?.length;
}

/** The id of the resource whose value a released Secret holds. */
export function releasedId(handout: Handout, existing: KubeObject): string | undefined {
  return isReleased(handout, existing) ? idIn(existing, handout) : undefined;
}

/**
 * @param id of the object's resource, if the object does not record it yet
 * @param mayExist whether the resource of a released value may exist; undefined in namespaces without adoption
 * @throws Blocked when the object may not write the Secret
 */
export async function requireOwnership(
  handout: Handout,
  existing: KubeObject,
  object: KubeObject,
  id: string | undefined,
  mayExist: ((id: string) => Promise<boolean>) | undefined,
): Promise<void> {
  if (isOurs(handout, existing, object, id)) return;
  const held = releasedId(handout, existing);
  throw secretConflict(handout, existing, object, held === undefined ? false : await mayExist?.(held));
}

/**
 * The error for a Secret that is not the object's.
 * @param heldExists whether the resource of a released value may exist; undefined where the message must not reveal it
 */
export function secretConflict(
  handout: Handout,
  existing: KubeObject,
  object: KubeObject,
  heldExists: boolean | undefined,
): Blocked {
  const { name, ownerReferences = [] } = existing.metadata;
  const owner = ownerReferences.find(({ controller }) => controller) ?? ownerReferences[0];
  const held = releasedId(handout, existing);
  const rename = 'set spec.secret.name to another name';
  const told = () => {
    if (owner) return `belongs to ${owner.kind} ${owner.name}: ${rename}`;
    if (held === undefined) return `does not belong to this object: ${rename}, or delete the Secret`;
    if (heldExists === undefined)
      return `holds the ${handout.what} of ${held}, which may not be adopted from namespace ${object.metadata.namespace}: ${rename}, or delete the Secret if nothing uses it`;
    if (!heldExists)
      return `holds the ${handout.what} of ${held}, which no longer exists: ${rename}, or delete the Secret`;
    const adopt = namesNoResource(object) ? `set the annotation ${ANNOTATION.adopt} to ${held}, or ` : '';
    return `holds the ${handout.what} of ${held}: ${adopt}${rename}`;
  };
  return new Blocked(REASON.secretConflict, `Secret ${name} exists and ${told()}`);
}

export function isOwnedBy(existing: KubeObject, object: KubeObject): boolean {
  return existing.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) ?? false;
}

/** A Secret restored from a backup: of our type, and owned by an object of this name under an earlier UID. */
function isOfPredecessor({ secretType }: Handout, existing: KubeObject, object: KubeObject): boolean {
  const owners = existing.metadata.ownerReferences ?? [];
  const isPredecessor = (owner: OwnerReference) => owner.kind === object.kind && owner.name === object.metadata.name;
  return existing.type === secretType && owners.length > 0 && owners.every(isPredecessor);
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
  return [...new Map(versions.flatMap(ownersOf)).values()];
}

/** Includes owners that are not controllers. */
function ownersOf({ metadata }: KubeObject): [uid: string, owner: SecretOwner][] {
  const { ownerReferences = [], namespace = '' } = metadata;
  return ownerReferences.map(({ uid, kind, name }) => [uid, { kind, name, namespace }]);
}
