/** Deleting remote resources: superseded ones, and all of them when the object is deleted. */

import { ApiError } from '../../../client/errors.ts';
import { nameOfManager } from '../../../resources/definition/manager.ts';
import { EVENT_REASON, REASON } from '../../contract/reasons.ts';
import { Blocked, type Remote } from '../declaration/external.ts';
import {
  dueForRetirement,
  everythingOf,
  type Identity,
  isBegun,
  knows,
  type Retiring,
  readIdentity,
} from '../identity/identity.ts';
import { isUnfinished, shownIdentity } from '../identity/recorded-status.ts';
import { earliest } from '../identity/schedule.ts';
import { otherManager } from '../object/failure.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { deleteVisible } from '../object/not-found.ts';
import { isCreatedIn } from '../object/rivals.ts';
import { goesWithOwner } from './attachment.ts';
import { release, tryToClaim } from './claim.ts';
import { isServing } from './guarding.ts';

/** The pause before a superseded resource that could not be deleted is tried again. */
const RETRY_MS = { first: 60_000, last: 3_600_000 };

/** The longer the API refuses the deletion, the longer the pause: nothing reports when the last reference is gone. */
export function retryAfter(heldSince: Date, now: Date): Date {
  const pause = (now.getTime() - heldSince.getTime()) / 2;
  return new Date(now.getTime() + Math.min(Math.max(pause, RETRY_MS.first), RETRY_MS.last));
}

/**
 * Deletes the superseded resources that are due; returns when the next one is due. A resource that cannot be deleted yet
 * stays on the list, so that it does not hold up its successor.
 * @param successor as it was last observed; if missing, it is observed when needed
 */
export async function retireSuperseded(
  managed: ManagedObject,
  now: Date,
  successor?: Remote,
): Promise<Date | undefined> {
  const identity = readIdentity(managed.object);
  const { due, later } = dueForRetirement(identity, now);
  // A stale cache could list a resource that has become current again.
  if (due.length > 0) await managed.mustBeNewest();
  const left = [...(await leftToOthers(managed, due))];
  const needed = due.length > 0 ? await neededStill(managed, identity, successor) : [];
  const kept: Retiring[] = [];
  const retries: Date[] = [];
  for (const entry of due.filter((each) => !left.includes(each))) {
    const isNeeded = needed.includes(entry.id);
    const outcome = isNeeded ? undefined : await tryToDelete(managed, entry);
    if (outcome === 'left') left.push(entry);
    if (outcome === 'left' || outcome === 'deleted') continue;
    kept.push(entry);
    retries.push(outcome ? retryAfter(new Date(entry.after), now) : new Date(now.getTime() + RETRY_MS.first));
    if (!outcome) continue;
    const message = `${entry.id} is superseded, and cannot be deleted yet: ${outcome.message}`;
    managed.recordEvent('Warning', REASON.deletionBlocked, message);
  }
  const deleted = due.filter((entry) => !kept.includes(entry) && !left.includes(entry)).map(({ id }) => id);
  if (deleted.length + left.length > 0) await managed.persist({ ...identity, retiring: [...kept, ...later] });
  const reason = managed.kind.delivery?.handout.isOneTime ? EVENT_REASON.retired : EVENT_REASON.supersededDeleted;
  if (deleted.length > 0) managed.recordEvent('Normal', reason, `Deleted ${namesOf(managed, deleted)}`);
  const dated = later.filter(({ overlapMs }) => overlapMs === undefined);
  return [...retries, ...dated.map(({ after }) => new Date(after))].reduce<Date | undefined>(earliest, undefined);
}

/**
 * The due resources that must not be deleted here: those that were not created for this object and that another one claims.
 * Without adoption, also those that only the annotation names. Modules are left to an owner that is being deleted.
 */
async function leftToOthers(managed: ManagedObject, entries: readonly Retiring[]) {
  const { object, kind, claims, mayAdopt } = managed;
  if (kind.isAttached) return entries.filter(({ id }) => goesWithOwner(managed, id));
  const inQuestion = mayAdopt ? entries.filter(({ id }) => claims.othersClaiming(id, object).length > 0) : entries;
  if (inQuestion.length === 0) return inQuestion;
  const scope = await kind.external.scope(object.metadata.uid);
  const shown = mayAdopt ? undefined : shownIdentity(object);
  return inQuestion.filter(({ id }) => !isCreatedIn(scope, id) && !(shown && knows(shown, id)));
}

/**
 * The resources that must not be deleted yet: those that are being replaced, those that other objects still refer to, and
 * those whose tokens are in use.
 */
async function neededStill(managed: ManagedObject, identity: Identity, successor?: Remote): Promise<string[]> {
  const { object, kind } = managed;
  const replaced = (await isInPlace(managed, identity, successor)) ? [] : idsOf(beingReplaced(managed, identity));
  const followed = kind.declared.deletableWhileReferenced ? [] : kind.inputs.idsInUseBy(kind.name, object);
  return [...replaced, ...followed, ...((await kind.delivery?.stored(object)) ?? [])];
}

/** Whether the successor serves. The resource tells: the status may show a later failure, or be from before a crash. */
async function isInPlace(managed: ManagedObject, { externalId }: Identity, successor?: Remote): Promise<boolean> {
  const { kind } = managed;
  if (externalId === undefined || !kind.declared.unserved) return externalId !== undefined;
  return isServing(managed, successor ?? (await kind.external.observe(externalId)));
}

/** Any superseded resource may still be serving. For tokens, the Secret tells which one is in use. */
const beingReplaced = ({ kind }: ManagedObject, { retiring }: Identity) =>
  kind.delivery?.handout.isOneTime ? retiring.slice(-1) : retiring;

/** Deletes everything that belongs to the object. @throws Blocked while something refers to it */
export async function deleteRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const deleted = await deleteAll(managed, everythingOf(identity));
  if (deleted.length > 0)
    managed.recordEvent('Normal', EVENT_REASON.deleted, `Deleted ${namesOf(managed, idsOf(deleted))}`);
}

/** Lets the resource, its Secret and its DNSEndpoint outlive the object, unless no reconcile has ever succeeded. */
export async function retainRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const held = (await managed.kind.delivery?.release(managed.object, idsOf(everythingOf(identity)))) ?? [];
  if (held.length === 0 && isUnfinished(managed.object)) return deleteRemote(managed, identity);
  await managed.releaseDnsEndpoint();
  const { stays, others } = await remainsOf(managed, identity, held);
  await deleteAll(managed, others);
  if (stays === undefined) return;
  await release(managed, stays.id);
  managed.recordEvent('Normal', EVENT_REASON.retained, `Retained ${namesOf(managed, [stays.id])}`);
}

/** Leaves the resource to another object. Superseded ones are deleted now, since no object lists them afterwards. */
export async function leaveRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const { object, kind } = managed;
  if (isUnfinished(object)) return deleteRemote(managed, identity);
  const held = (await kind.delivery?.stored(object)) ?? [];
  await deleteAll(managed, whatStays(identity, knownOf(managed), held).others);
}

/** Which resource stays when the object is no longer managed: of several, one that serves. */
export async function remainsOf(managed: ManagedObject, identity: Identity, held: readonly string[]): Promise<Remains> {
  const { external, declared } = managed.kind;
  const remains = whatStays(identity, knownOf(managed), held);
  if (!declared.unserved || remains.others.length === 0) return remains;
  const all = [...remains.others, ...(remains.stays ? [remains.stays] : [])];
  for (const stays of all.toReversed()) {
    const remote = await external.observe(stays.id);
    if (remote && isServing(managed, remote)) return { stays, others: all.filter((entry) => entry !== stays) };
  }
  return remains;
}

/** The resources that the object's annotations and status name. */
export interface Known {
  recorded: Identity;
  shown: Identity | undefined;
}

const knownOf = ({ object }: Pick<ManagedObject, 'object'>): Known => ({
  recorded: readIdentity(object),
  shown: shownIdentity(object),
});

interface Remains {
  stays: Retiring | undefined;
  others: Retiring[];
}

/**
 * Which resource stays, and which are deleted. While a successor is being created, the resource with the stored token stays,
 * or else the last one that the object has recorded. The newest one is not recorded yet, so it is not in use.
 * @param held the resources whose tokens are stored; a token is stored before its resource is recorded
 */
export function whatStays(identity: Identity, { recorded, shown }: Known, held: readonly string[]): Remains {
  const all = everythingOf(identity);
  const named = [recorded, shown].flatMap((known) => (known ? idsOf(everythingOf(known)) : []));
  const lastOf = (ids: readonly string[]) => all.findLast(({ id }) => ids.includes(id));
  const isSettled = recorded.externalId !== undefined && recorded.externalId === identity.externalId;
  // An object that has lost its annotations may have named the newest.
  const otherwise = isBegun(recorded) ? lastOf(named) : all.at(-1);
  const stays = isSettled ? all.at(-1) : (lastOf(held) ?? otherwise);
  return { stays, others: all.filter((entry) => entry !== stays) };
}

const toDelete = (managed: ManagedObject, entries: readonly Retiring[]) =>
  entries.filter(({ id }) => !goesWithOwner(managed, id));

/** As Events name them. */
const namesOf = ({ kind }: ManagedObject, ids: readonly string[]) =>
  ids.map((id) => (kind.isAttached ? `the modules of ${id}` : id)).join(', ');

const idsOf = (entries: readonly Pick<Retiring, 'id'>[]) => entries.map(({ id }) => id);

/** Returns those that were deleted here. @throws Blocked while something refers to one of them */
export async function deleteAll(managed: ManagedObject, entries: readonly Retiring[]): Promise<Retiring[]> {
  const deleted: Retiring[] = [];
  for (const entry of toDelete(managed, entries)) {
    const outcome = await tryToDelete(managed, entry);
    if (outcome === 'deleted') deleted.push(entry);
    else if (outcome !== 'left')
      throw new Blocked(REASON.deletionBlocked, `${entry.id} cannot be deleted yet: ${outcome.message}`);
  }
  return deleted;
}

/** `left`: another object manages it. Otherwise, what the API says if something refers to it. */
async function tryToDelete(managed: ManagedObject, entry: Retiring): Promise<'deleted' | 'left' | ApiError> {
  try {
    await deleteVisible(managed, entry);
    return 'deleted';
  } catch (error) {
    if (error instanceof ApiError && error.code === 'RESOURCE_IN_USE') return error;
    const other = otherManager(error);
    if (!other) throw error;
    if (await tryToClaim(managed, entry.id)) return tryToDelete(managed, entry);
    const message = `Left ${namesOf(managed, [entry.id])} to ${nameOfManager(other)}, which manages it`;
    managed.recordEvent('Normal', EVENT_REASON.retained, message);
    return 'left';
  }
}
