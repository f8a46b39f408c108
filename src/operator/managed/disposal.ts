/** Deleting remote resources: superseded ones, and all of them when the object is deleted. */
import { ApiError } from '../../client/errors.ts';
import { EVENT_REASON, REASON } from '../contract/reasons.ts';
import { Blocked } from './external.ts';
import { dueForRetirement, type Identity, type Retiring, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { earliest } from './schedule.ts';

/**
 * Deletes the superseded resources that are due, unless their successor is yet to be recorded; returns when the next one
 * is due.
 */
export async function retireSuperseded(managed: ManagedObject, now: Date): Promise<Date | undefined> {
  const identity = readIdentity(managed.object);
  if (identity.externalId === undefined) return undefined;
  const { due, later } = dueForRetirement(identity, now);
  if (due.length > 0) {
    await deleteAll(managed, due);
    await managed.persist({ ...identity, retiring: later });
    managed.recordEvent('Normal', EVENT_REASON.retired, `Deleted ${due.map(({ id }) => id).join(', ')}`);
  }
  return later.map(({ after }) => new Date(after)).reduce<Date | undefined>(earliest, undefined);
}

/** Deletes everything that belongs to the object. @throws Blocked while something refers to it */
export async function deleteRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const ids = idsToDelete(identity);
  for (const id of ids) await deleteUnlessInUse(managed, id);
  if (ids.length > 0) managed.recordEvent('Normal', EVENT_REASON.deleted, `Deleted ${ids.join(', ')}`);
}

/** Lets the resource, and the Secret with its token, outlive the object. */
export async function retainRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  const held = (await managed.kind.delivery?.release(managed.object)) ?? [];
  const { kept, superseded } = whenRetained(identity, readIdentity(managed.object).externalId, held);
  await deleteAll(managed, superseded);
  if (kept !== undefined) managed.recordEvent('Normal', EVENT_REASON.retained, `Retained ${kept}`);
}

/** Leaves the resource to others; what was superseded goes, since nobody is left to delete it later. */
export async function leaveRemote(managed: ManagedObject, identity: Identity): Promise<void> {
  if (identity.externalId !== undefined) await deleteAll(managed, identity.retiring);
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

async function deleteAll(managed: ManagedObject, entries: readonly Pick<Retiring, 'id'>[]): Promise<void> {
  for (const { id } of entries) await managed.kind.external.delete(id);
}

async function deleteUnlessInUse(managed: ManagedObject, id: string): Promise<void> {
  try {
    await managed.kind.external.delete(id);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'RESOURCE_IN_USE') throw error;
    throw new Blocked(REASON.deletionBlocked, `${id} cannot be deleted yet: ${error.message}`);
  }
}
