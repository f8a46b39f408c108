/** Finalizing an object that is being deleted. */

import { REASON } from '../contract/reasons.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { claimIn } from './claims.ts';
import { deleteRemote, leaveRemote, retainRemote } from './disposal.ts';
import { Blocked } from './external.ts';
import type { ManagedObject, Outcome } from './managed-object.ts';
import { closeCreates } from './recovery.ts';
import { hasFinalizer, readPolicies } from './spec.ts';
import { handedOverForGood, isLeft } from './succession.ts';

/** @throws Blocked while something refers to the resource */
export async function finalize(managed: ManagedObject): Promise<Outcome> {
  if (!hasFinalizer(managed.object)) return managed.outcome();
  mustBeUnreferenced(managed);
  // By now it may be gone, and another object of its name have the modules that it had.
  await managed.mustBeNewest();
  const { object, kind } = managed;
  // Its spec is read before anything is done.
  const ofOwn = fateOfRemote(object, false);
  const isObserved = readPolicies(object).managementPolicy === 'Observe';
  const fates = { ofClaim: isObserved ? ofOwn : fateOfRemote(object, await isLeft(managed)), ofOwn };
  // First of all, so that a create still in flight cannot leave an orphan.
  const closed = await closeCreates(managed);
  const left = kind.isAttached ? await handedOverForGood(managed, closed.retiring) : [];
  const identity = { ...closed, retiring: closed.retiring.filter((entry) => !left.includes(entry)) };
  switch (identity.externalId === claimIn(object)?.id ? fates.ofClaim : fates.ofOwn) {
    case 'delete':
      await deleteRemote(managed, identity);
      break;
    case 'retain':
      await retainRemote(managed, identity);
      break;
    case 'not-ours':
      await leaveRemote(managed, identity);
      break;
  }
  await managed.removeFinalizer();
  return managed.outcome();
}

/** How many referrers a condition names. */
const MOST_NAMED = 5;

/** What others refer to by name stays until they are gone, too. @throws Blocked naming them */
function mustBeUnreferenced({ object, kind }: ManagedObject): void {
  if (kind.declared.deletableWhileReferenced) return;
  const referrers = kind.inputs.referrersOf(kind.name, object);
  if (referrers.length === 0) return;
  const others = referrers.length > MOST_NAMED ? ` and ${referrers.length - MOST_NAMED} more` : '';
  const named = `${referrers
    .slice(0, MOST_NAMED)
    .map(({ name }) => name)
    .join(', ')}${others}`;
  const verb = referrers.length === 1 ? 'refers' : 'refer';
  const remedy = referrers.some(({ isBound }) => isBound)
    ? 'delete what refers to it'
    : 'delete what refers to it, or let that refer to another';
  throw new Blocked(
    REASON.deletionBlocked,
    `${named} ${verb} to this object, which is deleted once nothing does: ${remedy}`,
  );
}

/** What happens to the remote resource when its object is deleted. */
export function fateOfRemote(object: KubeObject, isLeft: boolean): 'delete' | 'retain' | 'not-ours' {
  const { managementPolicy, deletionPolicy } = readPolicies(object);
  if (managementPolicy === 'Observe') return 'retain';
  if (isLeft) return 'not-ours';
  return deletionPolicy === 'Delete' ? 'delete' : 'retain';
}
