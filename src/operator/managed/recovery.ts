/**
 * Finding what belongs to an object whose annotations were lost or edited. The API knows everything that was created in
 * the object's scope, which follows from its UID alone.
 */
import { EVENT_REASON } from '../contract/reasons.ts';
import { everythingOf } from './disposal.ts';
import type { CreateScope } from './external.ts';
import { type Identity, knows, nextGeneration, type Retiring, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { namesOnlyOwn, onlyOwn, requireAdoptionGrant } from './permissions.ts';
import { mayRetire } from './rivals.ts';
import { rotationRestored } from './rotation.ts';
import { doubtAbout, isReconcileRequested, shownIdentity } from './spec.ts';

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

/** Ends all creates that have begun for the object, and records what they made, or else the next generation. */
export async function recoverIdentity(managed: ManagedObject): Promise<void> {
  // The cache may be stale, and the annotations be there.
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

/** Ends all creates that have begun for the object; returns what belongs to it then. */
export async function closeCreates(managed: ManagedObject): Promise<Identity> {
  const { object, kind } = managed;
  const scope = await kind.external.closeScope(object.metadata.uid);
  // Read after the creates are closed: one of them may just have stored its token.
  const stored = (await kind.delivery?.stored(object)) ?? [];
  const shown = shownIdentity(object);
  const named = readIdentity(object);
  const recorded = managed.mayAdopt ? named : onlyOwn(named, shown, scope);
  const identity = recoveredIdentity(recorded, shown, scope, stored, new Date());
  return { ...identity, retiring: identity.retiring.filter(({ id }) => mayRetire(managed, id, scope)) };
}

/** Whether the recorded identity accounts for everything that was created for the object. */
export function isSound(recorded: Identity, shown: Identity | undefined, { resources }: CreateScope): boolean {
  const { externalId, generation } = recorded;
  const isUnderWay = (sequence: number) => externalId === undefined && sequence === generation;
  if (!resources.every(({ id, sequence }) => knows(recorded, id) || isUnderWay(sequence))) return false;
  // What was adopted is in no scope. One that is gone by now is deleted once more, which does no harm.
  const adopted = shown ? everythingOf(shown).filter((entry) => entry.generation === 0) : [];
  if (!adopted.every(({ id }) => knows(recorded, id))) return false;
  if (externalId === undefined) return true;
  // Generation 0 would mean that it was adopted.
  if (resources.some(({ id }) => id === externalId)) return generation > 0;
  // Any other would mean that it was created, and may be replaced.
  if (adopted.some(({ id }) => id === externalId)) return generation === 0;
  // Adopted, or restored from a backup under another UID; or put in the place of the one that the status shows.
  return shown?.externalId === undefined || knows(recorded, shown.externalId);
}

/**
 * The identity of an object whose creates are closed. One of its resources is the current one, and the others are retired:
 * when that was planned, or else at once.
 * @param stored the resources whose tokens are in use: none of them may go before its successor's token is stored
 */
export function recoveredIdentity(
  recorded: Identity,
  shown: Identity | undefined,
  { resources, nextSequence }: CreateScope,
  stored: readonly string[],
  now: Date,
): Identity {
  const isOurs = (id: string) => resources.some((resource) => resource.id === id);
  const current = currentOf(recorded, shown, resources, stored);
  const isAdopted = (id: string) => [recorded, shown].some((one) => one?.generation === 0 && one.externalId === id);
  // The status may be behind: what it still shows as retiring may be gone by now.
  const shownRetiring = shown?.retiring.filter(({ id, generation }) => isOurs(id) || generation === 0) ?? [];
  const strays = [
    ...resources.map(({ id, sequence }) => ({ id, generation: sequence })),
    // What was adopted has a successor by now.
    ...(shown?.generation === 0 && shown.externalId !== undefined ? [{ id: shown.externalId, generation: 0 }] : []),
  ].map((stray) => ({ ...stray, after: now.toISOString() }));
  return {
    externalId: current,
    generation: current !== undefined && !isOurs(current) && isAdopted(current) ? 0 : nextSequence - 1,
    createKey: undefined,
    retiring: withoutRepeats([...recorded.retiring, ...shownRetiring, ...strays]).filter(({ id }) => id !== current),
  };
}

/** Which resource is the current one; undefined if all that there are have been superseded. */
function currentOf(
  recorded: Identity,
  shown: Identity | undefined,
  resources: CreateScope['resources'],
  stored: readonly string[],
) {
  const isSuperseded = (id: string | undefined) => recorded.retiring.some((entry) => entry.id === id);
  const newestOf = (ids: readonly (string | undefined)[]) =>
    resources.find(({ id }) => ids.includes(id) && !isSuperseded(id))?.id;
  const before = isSuperseded(shown?.externalId) ? undefined : shown;
  // What was adopted is not in the scope.
  if (before?.generation === 0 && !newestOf([...stored, recorded.externalId])) return before.externalId;
  // The annotations may be those of an old manifest, and the status may be behind.
  const known = newestOf(stored) ?? newestOf([recorded.externalId, before?.externalId]);
  return known ?? newestOf(resources.map(({ id }) => id)) ?? before?.externalId ?? recorded.externalId;
}

/** The first entry of each id. */
function withoutRepeats(entries: readonly Retiring[]): Retiring[] {
  return [...new Map(entries.toReversed().map((entry) => [entry.id, entry])).values()].toReversed();
}
