/**
 * Settings that go with the resource that they belong to. Until that is deleted they guard it: taken off before, a route
 * that is about to go would be open to everybody for its last moments.
 */
import type { KubeObject } from '../kube/kube-object.ts';
import { readIdentity } from './identity.ts';
import { resourceIdOf } from './inputs/inputs.ts';
import type { ManagedObject } from './managed-object.ts';
import { isDeleting, readPolicies } from './spec.ts';

/** Whether the object that stands for the owner of the settings is about to delete that. */
export function goesWithOwner(managed: ManagedObject, ownerId: string): boolean {
  if (!managed.kind.isAttached) return false;
  return ownersOf(managed).some((owner) => {
    if (readIdentity(owner).retiring.some(({ id }) => id === ownerId)) return true;
    return resourceIdOf(owner) === ownerId && isDeleting(owner) && isDeletedWithObject(owner);
  });
}

const ownersOf = ({ kind, object }: ManagedObject) => kind.inputs.targetsOf(kind.name, object);

function isDeletedWithObject(object: KubeObject): boolean {
  const { managementPolicy, deletionPolicy } = readPolicies(object);
  return managementPolicy === 'Manage' && deletionPolicy === 'Delete';
}
