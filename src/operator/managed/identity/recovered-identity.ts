/** The identity of an object according to what the API has created for it, in place of annotations that may be wrong. Pure. */
import type { CreateScope } from '../declaration/external.ts';
import { everythingOf, type Identity, knows, type Retiring } from './identity.ts';

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

/** Whether everything that the annotations name was created for the object, or is known to its status. */
export function namesOnlyOwn(recorded: Identity, shown: Identity | undefined, scope: CreateScope): boolean {
  return [recorded.externalId, ...recorded.retiring.map(({ id }) => id)].every(
    (id) => id === undefined || isOwn(id, shown, scope),
  );
}

/** The identity without what was not created for the object, and is not known to its status. */
export function onlyOwn(recorded: Identity, shown: Identity | undefined, scope: CreateScope): Identity {
  const { externalId, retiring } = recorded;
  return {
    ...recorded,
    externalId: externalId !== undefined && isOwn(externalId, shown, scope) ? externalId : undefined,
    retiring: retiring.filter(({ id }) => isOwn(id, shown, scope)),
  };
}

function isOwn(id: string, shown: Identity | undefined, { resources }: CreateScope): boolean {
  return resources.some((resource) => resource.id === id) || (shown !== undefined && knows(shown, id));
}

/** The identity of an object that adopts a resource; what was created for it before is retired at once. */
export function adoptedIdentity(id: string, { resources, nextSequence }: CreateScope, now: Date): Identity {
  const others = resources.filter((resource) => resource.id !== id);
  return {
    externalId: id,
    // What the object had created itself is not adopted, but found again.
    generation: others.length < resources.length ? nextSequence - 1 : 0,
    createKey: undefined,
    retiring: others.map((other) => ({ id: other.id, generation: other.sequence, after: now.toISOString() })),
  };
}
