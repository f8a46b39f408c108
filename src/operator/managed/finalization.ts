/** Finalizing an object that is being deleted. */
import type { KubeObject } from '../kube/kube-object.ts';
import type { Claims } from './claims.ts';
import { deleteRemote, retainRemote } from './disposal.ts';
import type { ManagedObject, Outcome } from './managed-object.ts';
import { hasFinalizer, readPolicies } from './spec.ts';

/** @throws Blocked while something refers to the resource */
export async function finalize(managed: ManagedObject, claims: Claims): Promise<Outcome> {
  const { object } = managed;
  if (!hasFinalizer(object)) return managed.outcome();
  switch (fateOfRemote(object, claims.rivalOf(object) !== undefined)) {
    case 'delete':
      await deleteRemote(managed);
      break;
    case 'retain':
      await retainRemote(managed);
      break;
    case 'not-ours':
      break;
  }
  await managed.removeFinalizer();
  return managed.outcome();
}

/** What happens to the remote resource when its object is deleted. */
export function fateOfRemote(object: KubeObject, hasRival: boolean): 'delete' | 'retain' | 'not-ours' {
  const { managementPolicy, deletionPolicy } = readPolicies(object);
  if (managementPolicy === 'Observe' || hasRival) return 'not-ours';
  return deletionPolicy === 'Delete' ? 'delete' : 'retain';
}
