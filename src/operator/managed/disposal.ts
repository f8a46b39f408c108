/**
 * Deleting remote resources: superseded ones, and all of them when the object is deleted. An idempotency key is closed
 * before what was created under it is deleted, so that a create still in flight cannot bring another one into being.
 */
import { ApiError } from '../../client/errors.ts';
import { EVENT_REASON, REASON } from '../contract/reasons.ts';
import { Blocked } from './external.ts';
import { dueForRetirement, type Identity, idempotencyKeyOf, type Retiring, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { earliest } from './schedule.ts';

/**
 * Deletes the superseded resources that are due, now that the successor is recorded; returns when the next one is due.
 */
export async function retireSuperseded(managed: ManagedObject, now: Date): Promise<Date | undefined> {
  const identity = readIdentity(managed.object);
  const { due, later } = dueForRetirement(identity, now);
  if (due.length > 0) {
    await deleteSuperseded(managed, due);
    await managed.persist({ ...identity, retiring: later });
    managed.recordEvent('Normal', EVENT_REASON.retired, `Deleted ${due.map(({ id }) => id).join(', ')}`);
  }
  return later.map(({ after }) => new Date(after)).reduce<Date | undefined>(earliest, undefined);
}

/** Deletes whatever was created for the object, recorded or not. @throws Blocked while something refers to it */
export async function deleteRemote(managed: ManagedObject): Promise<void> {
  const identity = readIdentity(managed.object);
  const unrecorded: string[] = [];
  for (const generation of generationsToClose(identity)) {
    const id = await closeKey(managed, generation);
    if (id !== undefined) unrecorded.push(id);
  }
  const ids = idsToDelete(identity, unrecorded);
  for (const id of ids) await deleteUnlessInUse(managed, id);
  if (ids.length > 0) managed.recordEvent('Normal', EVENT_REASON.deleted, `Deleted ${ids.join(', ')}`);
}

/** Lets the resource, and the Secret with its token, outlive the object. */
export async function retainRemote(managed: ManagedObject): Promise<void> {
  const { object, kind } = managed;
  const identity = readIdentity(object);
  await deleteSuperseded(managed, supersededWhenRetained(identity));
  await kind.delivery?.release(object);
  const left = identity.externalId ?? (await closeKey(managed, identity.generation));
  if (left !== undefined) managed.recordEvent('Normal', EVENT_REASON.retained, `Retained ${left}`);
}

/**
 * Closes the key of this generation; the id of what was created under it and still exists. Generation 0 means adopted.
 */
export async function closeKey(managed: ManagedObject, generation: number): Promise<string | undefined> {
  if (generation === 0) return undefined;
  return managed.kind.external.closeKey(idempotencyKeyOf(managed.object, generation));
}

/** Every generation in which a create may still take effect. */
export function generationsToClose({ generation, retiring }: Identity): number[] {
  const all = new Set([generation, ...retiring.map((entry) => entry.generation)]);
  return [...all].filter((other) => other > 0);
}

/** Everything that was created for the object, without repeats, in the order of deletion. */
export function idsToDelete({ externalId, retiring }: Identity, unrecorded: readonly string[]): string[] {
  const present = externalId === undefined ? [] : [externalId];
  return [...new Set([...retiring.map(({ id }) => id), ...unrecorded, ...present])];
}

/** What has a successor goes now, since nobody is left to delete it later; without a successor, it is retained. */
export function supersededWhenRetained({ externalId, retiring }: Identity): readonly Retiring[] {
  return externalId === undefined ? [] : retiring;
}

async function deleteSuperseded(managed: ManagedObject, entries: readonly Retiring[]): Promise<void> {
  for (const { id, generation } of entries) {
    await closeKey(managed, generation);
    await managed.kind.external.delete(id);
  }
}

async function deleteUnlessInUse(managed: ManagedObject, id: string): Promise<void> {
  try {
    await managed.kind.external.delete(id);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'RESOURCE_IN_USE') throw error;
    throw new Blocked(REASON.deletionBlocked, `${id} cannot be deleted yet: ${error.message}`);
  }
}
