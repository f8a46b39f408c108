/** Recovers the identity of an object from what the API has created for it, when its annotations may be wrong. Pure. */
import type { CreateScope } from '../declaration/external.ts';
import { everythingOf, type Identity, knows, type Retiring } from './identity.ts';

/** Whether the recorded identity accounts for everything that was created for the object. */
export function isSound(recorded: Identity, shown: Identity | undefined, { resources }: CreateScope): boolean {
  const { externalId, generation } = recorded;
  const isUnderWay = (sequence: number) => externalId === undefined && sequence === generation;
  if (!resources.every(({ id, sequence }) => knows(recorded, id) || isUnderWay(sequence))) return false;
  // Adopted resources are in no scope. If one is already gone, deleting it again does no harm.
  const adopted = shown ? everythingOf(shown).filter((entry) => entry.generation === 0) : [];
  if (!adopted.every(({ id }) => knows(recorded, id))) return false;
  if (externalId === undefined) return true;
  // Generation 0 would wrongly mark it as adopted.
  if (resources.some(({ id }) => id === externalId)) return generation > 0;
  // Any other generation would mark it as created, and so replaceable.
  if (adopted.some(({ id }) => id === externalId)) return generation === 0;
  // It was adopted, restored from a backup under another UID, or has replaced the one in the status.
  return shown?.externalId === undefined || knows(recorded, shown.externalId);
}

/**
 * The identity of an object whose creates are closed. One resource becomes current; the others are retired at their planned
 * time, or immediately if none was planned.
 * @param stored the resources whose tokens are in use; keep each until its successor's token is stored
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
  // The status may be stale and still list resources that are already deleted.
  const shownRetiring = shown?.retiring.filter(({ id, generation }) => isOurs(id) || generation === 0) ?? [];
  const strays = [
    ...resources.map(({ id, sequence }) => ({ id, generation: sequence })),
    // A stray adopted resource already has a successor.
    ...(shown?.generation === 0 && shown.externalId !== undefined ? [{ id: shown.externalId, generation: 0 }] : []),
  ].map((stray) => ({ ...stray, after: now.toISOString() }));
  return {
    externalId: current,
    generation: current !== undefined && !isOurs(current) && isAdopted(current) ? 0 : nextSequence - 1,
    createKey: undefined,
    retiring: withoutRepeats([...recorded.retiring, ...shownRetiring, ...strays]).filter(({ id }) => id !== current),
  };
}

/** The current resource; undefined if every existing one has been superseded. */
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
  // Adopted resources are not in the scope.
  if (before?.generation === 0 && !newestOf([...stored, recorded.externalId])) return before.externalId;
  // The annotations may come from an old manifest, and the status may be stale.
  const known = newestOf(stored) ?? newestOf([recorded.externalId, before?.externalId]);
  return known ?? newestOf(resources.map(({ id }) => id)) ?? before?.externalId ?? recorded.externalId;
}

/** The first entry of each id. */
function withoutRepeats(entries: readonly Retiring[]): Retiring[] {
  return [...new Map(entries.toReversed().map((entry) => [entry.id, entry])).values()].toReversed();
}

/** Whether every resource in the annotations was created for the object or appears in its status. */
export function namesOnlyOwn(recorded: Identity, shown: Identity | undefined, scope: CreateScope): boolean {
  return [recorded.externalId, ...recorded.retiring.map(({ id }) => id)].every(
    (id) => id === undefined || isOwn(id, shown, scope),
  );
}

/** Drops every resource that was neither created for the object nor appears in its status. */
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

/** The identity of an object that adopts a resource. Resources created for it earlier are retired immediately. */
export function adoptedIdentity(id: string, { resources, nextSequence }: CreateScope, now: Date): Identity {
  const others = resources.filter((resource) => resource.id !== id);
  return {
    externalId: id,
    // A resource that was created for this object is found again, not adopted.
    generation: others.length < resources.length ? nextSequence - 1 : 0,
    createKey: undefined,
    retiring: others.map((other) => ({ id: other.id, generation: other.sequence, after: now.toISOString() })),
  };
}
