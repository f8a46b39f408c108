/** Records the owner of an object's modules in its annotations and its status. */
import { ANNOTATION } from '../../contract/names.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { Remote } from '../declaration/external.ts';
import { readPolicies } from '../declaration/spec.ts';
import { type Identity, identityInStatus, readIdentity } from '../identity/identity.ts';
import { hasFinalizer, isDeleting, NOT_OBSERVED, readStatus, shownIdentity } from '../identity/recorded-status.ts';
import { resourceIdOf } from '../knowledge/inputs.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { mayRetire } from '../object/rivals.ts';
import { claimedBy } from './claim.ts';

/**
 * Records the owner in the annotations, which claims its modules, and the previous owner as superseded. Modules that are
 * there already may have another manager, so they are yet to be claimed at the API.
 */
export async function ensureAttachedTo(managed: ManagedObject, owner: Remote): Promise<void> {
  const { object } = managed;
  const { id: ownerId } = owner;
  const recorded = readIdentity(object);
  if (recorded.externalId === ownerId && !isListed(recorded, ownerId) && hasFinalizer(object)) return;
  // A stale cache could hold an owner that has been superseded since.
  await managed.mustBeNewest();
  const superseded = supersededBy(ownerId, recorded, managed.kind.now());
  const retiring = superseded.filter(({ id }) => mayRetire(managed, id, NOTHING_CREATED));
  const claimed = hasNoModules(owner) ? claimedBy(managed.manager) : { [ANNOTATION.manager]: null };
  await managed.persist({ externalId: ownerId, generation: 0, createKey: undefined, retiring }, claimed);
}

export const hasNoModules = (owner: Remote) => 'modules' in owner && Object.keys(Object(owner.modules)).length === 0;

const NOTHING_CREATED = { resources: [], nextSequence: 1 };

const isListed = ({ retiring }: Identity, id: string) => retiring.some((entry) => entry.id === id);

/** The superseded owners once the object has a new owner, which is removed from the list. */
export function supersededBy(ownerId: string, { externalId, retiring }: Identity, now: Date): Identity['retiring'] {
  const before = externalId === undefined ? [] : [{ id: externalId, generation: 0, after: now.toISOString() }];
  const others = retiring.filter(({ id }) => id !== externalId);
  return [...others, ...before].filter(({ id }) => id !== ownerId);
}

/**
 * Also records the owner in the status before any modules are set. From then on, the object manages them. Annotations alone
 * are not enough: after an edit, the operator would delete modules that the object has never set.
 */
export async function ensureOwnerShown(managed: ManagedObject): Promise<void> {
  const identity = readIdentity(managed.object);
  const before = shownIdentity(managed.object)?.externalId;
  if (before === identity.externalId) return;
  // Differences at a new owner are not drift.
  const observedGeneration = NOT_OBSERVED;
  await managed.writeStatus({}, { id: identity.externalId, ...identityInStatus(identity), observedGeneration });
}

/** Shows the owner again after a restore, which loses the status. Must come before a failure is shown there. */
export async function restoreOwnerShown(managed: ManagedObject): Promise<void> {
  const { object, claims } = managed;
  const { externalId } = readIdentity(object);
  if (externalId === undefined || readStatus(object).conditions || shownIdentity(object)) return;
  const isBelieved = managed.mayAdopt || claims.isClaimedBy(object, externalId);
  if (isBelieved && !claims.rivalOf(object)) await ensureOwnerShown(managed);
}

/**
 * Whether the modules will be deleted together with their owner, a route or edge. They guard it until then: deleting them
 * first would briefly leave a protected route open to everyone.
 */
export function goesWithOwner({ kind, object }: ManagedObject, ownerId: string): boolean {
  if (!kind.isAttached) return false;
  return kind.inputs.targetsOf(kind.name, object).some((owner) => {
    if (readIdentity(owner).retiring.some(({ id }) => id === ownerId)) return true;
    return resourceIdOf(owner) === ownerId && isDeleting(owner) && isDeletedWithObject(owner);
  });
}

function isDeletedWithObject(object: KubeObject): boolean {
  const { managementPolicy, deletionPolicy } = readPolicies(object);
  return managementPolicy === 'Manage' && deletionPolicy === 'Delete';
}
