/** Which resource the settings of an object belong to, as its annotations and its status record it. */
import { type Identity, identityInStatus, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { mayRetire } from './rivals.ts';
import { hasFinalizer, readStatus, shownIdentity } from './spec.ts';

/** Records the owner in the annotations, which also claims it, and the one before it as superseded. */
export async function ensureAttachedTo(managed: ManagedObject, ownerId: string): Promise<void> {
  const { object } = managed;
  const recorded = readIdentity(object);
  if (recorded.externalId === ownerId && !isListed(recorded, ownerId) && hasFinalizer(object)) return;
  // A stale cache could hold an owner that has been superseded since.
  await managed.mustBeNewest();
  const superseded = supersededBy(ownerId, recorded, new Date());
  const retiring = superseded.filter(({ id }) => mayRetire(managed, id, NOTHING_CREATED));
  await managed.persist({ externalId: ownerId, generation: 0, createKey: undefined, retiring });
}

const NOTHING_CREATED = { resources: [], nextSequence: 1 };

const isListed = ({ retiring }: Identity, id: string) => retiring.some((entry) => entry.id === id);

/** What is listed as superseded once the object belongs to another owner. Going back to one takes it off the list. */
export function supersededBy(ownerId: string, { externalId, retiring }: Identity, now: Date): Identity['retiring'] {
  const before = externalId === undefined ? [] : [{ id: externalId, generation: 0, after: now.toISOString() }];
  const others = retiring.filter(({ id }) => id !== externalId);
  return [...others, ...before].filter(({ id }) => id !== ownerId);
}

/**
 * Records the owner in the status, too, before anything is set there: annotations that somebody has edited since must
 * not make the operator delete the settings of a stranger. From then on the object has the settings, and nobody else.
 */
export async function ensureOwnerShown(managed: ManagedObject): Promise<void> {
  const identity = readIdentity(managed.object);
  const before = shownIdentity(managed.object)?.externalId;
  if (before === identity.externalId) return;
  const shown = { id: identity.externalId, ...identityInStatus(identity) };
  // Without observedGeneration: what the new owner has is not drift.
  await managed.patchStatus({}, before === undefined ? shown : { ...shown, observedGeneration: undefined });
}

/** After a wipe or a restore, while nothing says that another object has them: before a failure shows there instead. */
export async function restoreOwnerShown(managed: ManagedObject): Promise<void> {
  const { object, claims } = managed;
  const { externalId } = readIdentity(object);
  if (externalId === undefined || readStatus(object).conditions || shownIdentity(object)) return;
  const isBelieved = managed.mayAdopt || claims.isClaimedBy(object, externalId);
  if (isBelieved && !claims.rivalOf(object)) await ensureOwnerShown(managed);
}
