/**
 * Finds the resources of an object whose annotations were lost or edited. The API knows everything that was created in
 * the object's scope, which depends only on its UID.
 */
import { EVENT_REASON } from '../../contract/reasons.ts';
import { type Identity, knows, nextGeneration, readIdentity } from '../identity/identity.ts';
import { doubtAbout, isReconcileRequested, shownIdentity } from '../identity/recorded-status.ts';
import { isSound, namesOnlyOwn, onlyOwn, recoveredIdentity } from '../identity/recovered-identity.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { requireAdoptionGrant } from '../object/permissions.ts';
import { mayRetire } from '../object/rivals.ts';
import { rotationRestored } from '../secrets/rotation.ts';

/** Restores an identity that was lost or edited. A requested reconcile always compares it with what the API knows. */
export async function ensureIdentity(managed: ManagedObject): Promise<void> {
  await compareIdentity(managed);
  managed.noteCompared();
}

async function compareIdentity(managed: ManagedObject): Promise<void> {
  const { object, kind } = managed;
  const doubt = doubtAbout(object);
  if (doubt === 'none' && !isReconcileRequested(object)) return;
  if (doubt !== 'lost') {
    const scope = await kind.external.scope(object.metadata.uid);
    const recorded = readIdentity(object);
    // Attached objects create nothing: their annotations name the owner that the spec refers to.
    const isAdoption = !managed.mayAdopt && !kind.isAttached;
    if (isAdoption && !namesOnlyOwn(recorded, shownIdentity(object), scope)) requireAdoptionGrant(managed);
    const isListedRightly = recorded.retiring.every(({ id }) => mayRetire(managed, id, scope));
    if (isListedRightly && isSound(recorded, shownIdentity(object), scope)) return;
  }
  await recoverIdentity(managed);
}

/** Ends all pending creates for the object and records their result, or else the next generation. */
export async function recoverIdentity(managed: ManagedObject): Promise<void> {
  // With a stale cache, the annotations may still exist.
  await managed.mustBeNewest();
  const recorded = readIdentity(managed.object);
  const recovered = await closeCreates(managed);
  const identity = recovered.externalId === undefined ? nextGeneration(recovered) : recovered;
  await managed.persist(identity, rotationRestored(managed.object));
  for (const { id } of recorded.retiring.filter((entry) => !knows(identity, entry.id))) {
    const message = `${id} is not this object's resource; it is not deleted`;
    managed.recordEvent('Warning', EVENT_REASON.identityRestored, message);
  }
  if (recorded.externalId === undefined || recorded.externalId === identity.externalId) return;
  const message = `${recorded.externalId} is not this object's resource; restored ${identity.externalId ?? 'none'}`;
  managed.recordEvent('Warning', EVENT_REASON.identityRestored, message);
}

/** Ends all pending creates for the object; returns the identity that results. */
export async function closeCreates(managed: ManagedObject): Promise<Identity> {
  const { object, kind } = managed;
  const scope = await kind.external.closeScope(object.metadata.uid);
  const shown = shownIdentity(object);
  const named = readIdentity(object);
  const recorded = managed.mayAdopt ? named : onlyOwn(named, shown, scope);
  // Only then is there a choice of which one to keep.
  const hasOthers = scope.resources.some(({ id }) => id !== recorded.externalId);
  // Read the Secrets after closing the creates, since one of them may just have stored its token.
  const stored = hasOthers ? ((await kind.delivery?.stored(object)) ?? []) : [];
  const identity = recoveredIdentity(recorded, shown, scope, stored, kind.now());
  return { ...identity, retiring: identity.retiring.filter(({ id }) => mayRetire(managed, id, scope)) };
}
