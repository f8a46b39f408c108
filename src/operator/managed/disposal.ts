/** Deleting remote resources: superseded ones, and all of them when the object is deleted. */
import { ApiError } from '../../client/errors.ts';
import { EVENT_REASON, REASON } from '../contract/reasons.ts';
import { deleteSurely } from './absence.ts';
import { Blocked, type Remote } from './external.ts';
import { goesWithOwner } from './going-along.ts';
import { isServing } from './guarding.ts';
import { dueForRetirement, type Identity, isBegun, knows, type Retiring, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { isCreatedIn } from './rivals.ts';
import { earliest } from './schedule.ts';
import { isUnfinished, shownIdentity } from './spec.ts';
import { handedOver } from './succession.ts';

/** When to try again to delete a superseded resource that cannot go yet. */
const RETRY_MS = { first: 60_000, last: 3_600_000 };

/** The longer something outside the cluster holds on to it, of which nothing tells, the longer the pause. */
export function retryAfter(heldSince: Date, now: Date): Date {
  const pause = (now.getTime() - heldSince.getTime()) / 2;
  return new Date(now.getTime() + Math.min(Math.max(pause, RETRY_MS.first), RETRY_MS.last));
}

/**
 * Deletes the superseded resources that are due, unless their successor is yet to be recorded; returns when the next one
 * is due. What cannot go yet is kept for later: it must not keep its successor from being looked after.
 * @param successor as it was last seen; without it, it is looked at if it matters
 */
export async function retireSuperseded(
  managed: ManagedObject,
  now: Date,
  successor?: Remote,
): Promise<Date | undefined> {
  const identity = readIdentity(managed.object);
  const { due, later } = dueForRetirement(identity, now);
  // A stale cache could list what was taken back since.
  if (due.length > 0) await managed.mustBeNewest();
  const goingAlong = due.filter(({ id }) => goesWithOwner(managed, id));
  const inQuestion = due.filter((entry) => !goingAlong.includes(entry));
  const left = [...goingAlong, ...(await claimedByAnother(managed, inQuestion))];
  const needed = due.length > 0 ? await neededStill(managed, identity, successor) : [];
  const kept: Retiring[] = [];
  const retries: Date[] = [];
  for (const entry of due.filter((each) => !left.includes(each))) {
    const isNeeded = needed.includes(entry.id);
    const refusal = isNeeded ? undefined : await refusalOf(deleteSurely(managed, entry));
    if (!isNeeded && !refusal) continue;
    kept.push(entry);
    retries.push(refusal ? retryAfter(new Date(entry.after), now) : new Date(now.getTime() + RETRY_MS.first));
    if (!refusal) continue;
    const message = `${entry.id} is superseded, and cannot be deleted yet: ${refusal.message}`;
    managed.recordEvent('Warning', REASON.deletionBlocked, message);
  }
  const deleted = due.filter((entry) => !kept.includes(entry) && !left.includes(entry)).map(({ id }) => id);
  if (deleted.length + left.length > 0) await managed.persist({ ...identity, retiring: [...kept, ...later] });
  const reason = managed.kind.delivery?.handout.isOneTime ? EVENT_REASON.retired : EVENT_REASON.supersededDeleted;
  if (deleted.length > 0) managed.recordEvent('Normal', reason, `Deleted ${namesOf(managed, deleted)}`);
  return [...retries, ...later.map(({ after }) => new Date(after))].reduce<Date | undefined>(earliest, undefined);
}

/**
 * What was not created for the object, and is another object's by now: it is left to that. Where nothing may be adopted,
 * also what only the annotation names.
 */
async function claimedByAnother(managed: ManagedObject, entries: readonly Retiring[]) {
  const { object, kind, claims, mayAdopt } = managed;
  if (kind.isAttached) return handedOver(managed, entries);
  const inQuestion = mayAdopt ? entries.filter(({ id }) => claims.isClaimedByAnother(id, object)) : entries;
  if (inQuestion.length === 0) return inQuestion;
  const scope = await kind.external.scope(object.metadata.uid);
  const shown = mayAdopt ? undefined : shownIdentity(object);
  return inQuestion.filter(({ id }) => !isCreatedIn(scope, id) && !(shown && knows(shown, id)));
}

/**
 * What must not go before its successor is in its place: what is being replaced, those to which other objects have yet to
 * stop referring, and those whose tokens are in use.
 */
async function neededStill(managed: ManagedObject, identity: Identity, successor?: Remote): Promise<string[]> {
  const { object, kind } = managed;
  const replaced = (await isInPlace(managed, identity, successor)) ? [] : idsOf(beingReplaced(managed, identity));
  const followed = kind.isDeletableWhileReferenced ? [] : kind.inputs.idsInUseBy(kind.name, object);
  return [...replaced, ...followed, ...((await kind.delivery?.stored(object)) ?? [])];
}

/** By what it is, not by what the status says, which a failure overwrites and a crash leaves as it was. */
async function isInPlace(managed: ManagedObject, { externalId }: Identity, successor?: Remote): Promise<boolean> {
  const { kind } = managed;
  if (externalId === undefined || !kind.serves) return externalId !== undefined;
  return isServing(managed, successor ?? (await kind.external.observe(externalId)));
}

/** Any may be the one that serves: those after it may have had no time to. Of tokens, the Secret tells. */
const beingReplaced = ({ kind }: ManagedObject, { retiring }: Identity) =>
  kind.delivery?.handout.isOneTime ? retiring.slice(-1) : retiring;

/** Deletes everything that belongs to the object. @throws Blocked while something refers to it */
export async function deleteRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const entries = notGoingAlong(managed, everythingOf(identity));
  await deleteAll(managed, entries);
  if (entries.length > 0)
    managed.recordEvent('Normal', EVENT_REASON.deleted, `Deleted ${namesOf(managed, idsOf(entries))}`);
}

/** Lets the resource, the Secret with its token and its companion outlive the object; not one that was never finished. */
export async function retainRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const held = (await managed.kind.delivery?.release(managed.object, idsOf(everythingOf(identity)))) ?? [];
  if (held.length === 0 && isUnfinished(managed.object)) return deleteRemote(managed, identity);
  await managed.releaseCompanion();
  const { stays, others } = await remainsOf(managed, identity, held);
  await deleteAll(managed, others);
  if (stays !== undefined)
    managed.recordEvent('Normal', EVENT_REASON.retained, `Retained ${managed.kind.nameOf(stays.id)}`);
}

/** Leaves the resource to others; what was superseded goes, since nobody is left to delete it later. */
export async function leaveRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const { object, kind } = managed;
  if (isUnfinished(object)) return deleteRemote(managed, identity);
  const held = (await kind.delivery?.stored(object)) ?? [];
  await deleteAll(managed, whatStays(identity, knownOf(managed), held).others);
}

/** What outlives the management of the object: of several, one that serves. */
export async function remainsOf(managed: ManagedObject, identity: Identity, held: readonly string[]): Promise<Remains> {
  const { external, serves } = managed.kind;
  const remains = whatStays(identity, knownOf(managed), held);
  if (!serves || remains.others.length === 0) return remains;
  const all = [...remains.others, ...(remains.stays ? [remains.stays] : [])];
  for (const stays of all.toReversed()) {
    const remote = await external.observe(stays.id);
    if (remote && isServing(managed, remote)) return { stays, others: all.filter((entry) => entry !== stays) };
  }
  return remains;
}

/** Everything that belongs to the object, in the order of deletion. */
export function everythingOf({ externalId, generation, retiring }: Identity): Retiring[] {
  const others = retiring.filter(({ id }) => id !== externalId);
  return externalId === undefined ? others : [...others, { id: externalId, generation, after: '' }];
}

/** What the object says of its resources. */
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
 * What outlives the management of the object, and what goes. While a successor is being created, it is not the newest that
 * stays but the one whose token is stored, or else the last that the object has named: nobody was told of the newest.
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

const notGoingAlong = (managed: ManagedObject, entries: readonly Retiring[]) =>
  entries.filter(({ id }) => !goesWithOwner(managed, id));

const namesOf = ({ kind }: ManagedObject, ids: readonly string[]) => ids.map((id) => kind.nameOf(id)).join(', ');

const idsOf = (entries: readonly Pick<Retiring, 'id'>[]) => entries.map(({ id }) => id);

/** @throws Blocked while something refers to one of them */
export async function deleteAll(managed: ManagedObject, entries: readonly Retiring[]): Promise<void> {
  for (const entry of notGoingAlong(managed, entries)) {
    const refusal = await refusalOf(deleteSurely(managed, entry));
    if (refusal) throw new Blocked(REASON.deletionBlocked, `${entry.id} cannot be deleted yet: ${refusal.message}`);
  }
}

/** What the API says if something refers to the resource that is to be deleted. */
async function refusalOf(deletion: Promise<void>): Promise<ApiError | undefined> {
  try {
    await deletion;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'RESOURCE_IN_USE') return error;
    throw error;
  }
  return undefined;
}
