/** Deleting remote resources: superseded ones, and all of them when the object is deleted. */
import { ApiError } from '../../client/errors.ts';
import { EVENT_REASON, REASON } from '../contract/reasons.ts';
import { Blocked } from './external.ts';
import { dueForRetirement, type Identity, type Retiring, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { isCreatedIn } from './rivals.ts';
import { earliest } from './schedule.ts';
import { isUnfinished } from './spec.ts';

/** When to try again to delete a superseded resource to which something still refers. */
const IN_USE_RETRY_MS = 60_000;

/**
 * Deletes the superseded resources that are due, unless their successor is yet to be recorded; returns when the next one
 * is due. What is still in use is kept for later: it must not keep its successor from being looked after.
 */
export async function retireSuperseded(managed: ManagedObject, now: Date): Promise<Date | undefined> {
  const identity = readIdentity(managed.object);
  if (identity.externalId === undefined) return undefined;
  const { due, later } = dueForRetirement(identity, now);
  const claimed = await claimedByAnother(managed, due);
  const inUse: Retiring[] = [];
  for (const entry of due.filter((each) => !claimed.includes(each)))
    if (await refusalOf(managed.kind.external.delete(entry.id))) inUse.push(entry);
  const deleted = due.filter((entry) => !inUse.includes(entry) && !claimed.includes(entry)).map(({ id }) => id);
  if (deleted.length + claimed.length > 0) await managed.persist({ ...identity, retiring: [...inUse, ...later] });
  const reason = managed.kind.delivery ? EVENT_REASON.retired : EVENT_REASON.supersededDeleted;
  if (deleted.length > 0) managed.recordEvent('Normal', reason, `Deleted ${deleted.join(', ')}`);
  const retry = inUse.length > 0 ? new Date(now.getTime() + IN_USE_RETRY_MS) : undefined;
  return later.map(({ after }) => new Date(after)).reduce(earliest, retry);
}

/** What was not created for the object, and is another object's by now: it is left to that. */
async function claimedByAnother({ object, kind, claims }: ManagedObject, entries: readonly Retiring[]) {
  const claimed = entries.filter(({ id }) => claims.isClaimedByAnother(id, object));
  if (claimed.length === 0) return claimed;
  const scope = await kind.external.scope(object.metadata.uid);
  return claimed.filter(({ id }) => !isCreatedIn(scope, id));
}

/** Deletes everything that belongs to the object. @throws Blocked while something refers to it */
export async function deleteRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const ids = idsToDelete(identity);
  await deleteAll(managed, ids);
  if (ids.length > 0) managed.recordEvent('Normal', EVENT_REASON.deleted, `Deleted ${ids.join(', ')}`);
}

/** Lets the resource, and the Secret with its token, outlive the object; not one that was never finished. */
export async function retainRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const held = (await managed.kind.delivery?.release(managed.object)) ?? [];
  if (held.length === 0 && isUnfinished(managed.object)) return deleteRemote(managed, identity);
  const { kept, superseded } = whenRetained(identity, readIdentity(managed.object).externalId, held);
  await deleteAll(managed, idsOf(superseded));
  if (kept !== undefined) managed.recordEvent('Normal', EVENT_REASON.retained, `Retained ${kept}`);
}

/** Leaves the resource to others; what was superseded goes, since nobody is left to delete it later. */
export async function leaveRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  if (isUnfinished(managed.object)) return deleteRemote(managed, identity);
  if (identity.externalId !== undefined) await deleteAll(managed, idsOf(identity.retiring));
}

/** Everything that belongs to the object, in the order of deletion. */
export function idsToDelete({ externalId, retiring }: Identity): string[] {
  const present = externalId === undefined ? [] : [externalId];
  return [...new Set([...retiring.map(({ id }) => id), ...present])];
}

/**
 * What is retained when the object is deleted, and what goes. While a successor is being created, it is not the newest that
 * is retained but the one whose token is in the Secret.
 * @param recorded the resource that the annotations name; its token was stored before that
 */
export function whenRetained(
  identity: Identity,
  recorded: string | undefined,
  held: readonly string[],
): { kept: string | undefined; superseded: Retiring[] } {
  const { externalId, generation, retiring } = identity;
  const current = externalId === undefined ? [] : [{ id: externalId, generation, after: '' }];
  const all = [...retiring, ...current];
  const settled = recorded !== undefined && recorded === externalId;
  const stored = settled ? undefined : all.findLast(({ id }) => held.includes(id));
  const kept = stored?.id ?? all.at(-1)?.id;
  return { kept, superseded: all.filter(({ id }) => id !== kept) };
}

const idsOf = (entries: readonly Pick<Retiring, 'id'>[]) => entries.map(({ id }) => id);

/** @throws Blocked while something refers to one of them */
async function deleteAll(managed: ManagedObject, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const refusal = await refusalOf(managed.kind.external.delete(id));
    if (refusal) throw new Blocked(REASON.deletionBlocked, `${id} cannot be deleted yet: ${refusal.message}`);
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
