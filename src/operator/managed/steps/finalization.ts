/** Finalizing an object that is being deleted. */

import { REASON } from '../../contract/reasons.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../declaration/external.ts';
import { readPolicies } from '../declaration/spec.ts';
import { namesNoResource } from '../identity/identity.ts';
import { shownConnection } from '../identity/recorded-connection.ts';
import { hasFinalizer, isDeleting } from '../identity/recorded-status.ts';
import { currentClaim } from '../knowledge/claims.ts';
import type { ManagedObject, Outcome } from '../object/managed-object.ts';
import { rivalOf, wasManaged } from '../object/rivals.ts';
import { deleteRemote, leaveRemote, retainRemote } from './deletion.ts';
import { closeCreates } from './recovery.ts';

/** @throws Blocked while something refers to the resource */
export async function finalize(managed: ManagedObject): Promise<Outcome> {
  if (!hasFinalizer(managed.object)) return managed.outcome();
  managed.requireUnused();
  requireUnreferenced(managed);
  // Another object may have taken over its modules. What it created belongs to its UID, so a stale object is harmless.
  if (managed.kind.isAttached) await managed.mustBeNewest();
  const { object } = managed;
  // In a namespace that is deleted, a connection without its Secret can never be used.
  if (managed.connection.isUntried && namesNoResource(object) && shownConnection(object) === undefined) {
    await managed.removeFinalizer();
    return managed.outcome();
  }
  // Throws for an invalid policy, before anything is deleted.
  const ofOwn = fateOfRemote(object, false);
  const isObserved = readPolicies(object).managementPolicy === 'Observe';
  const fates = { ofClaim: isObserved ? ofOwn : fateOfRemote(object, await belongsToAnother(managed)), ofOwn };
  // First of all, so that a create still in flight cannot leave an orphan.
  const identity = await closeCreates(managed);
  switch (identity.externalId === currentClaim(object)?.id ? fates.ofClaim : fates.ofOwn) {
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

/** Whether another object is responsible for the resource that this one claims. */
async function belongsToAnother(managed: ManagedObject): Promise<boolean> {
  const { object, kind, claims } = managed;
  const id = currentClaim(object)?.id;
  if (kind.isAttached && id !== undefined) {
    // An object that has waited for the modules of another one has set none.
    if (!wasManaged(managed, id)) return true;
    // A renamed object: deleted first, the modules would leave the route open until the other one has set its own.
    if (claims.othersClaiming(id, object).some((other) => !isDeleting(other))) return true;
  }
  return (await rivalOf(managed)) !== undefined;
}

/** How many referrers a condition names. */
const MOST_NAMED = 5;

/** @throws Blocked naming the objects that refer to this one by name */
function requireUnreferenced({ object, kind }: ManagedObject): void {
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
export function fateOfRemote(object: KubeObject, belongsToAnother: boolean): 'delete' | 'retain' | 'not-ours' {
  const { managementPolicy, deletionPolicy } = readPolicies(object);
  if (managementPolicy === 'Observe') return 'retain';
  if (belongsToAnother) return 'not-ours';
  return deletionPolicy === 'Delete' ? 'delete' : 'retain';
}
