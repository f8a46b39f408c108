/**
 * Who has the modules of a resource next, when the object that has them is deleted or refers to another resource: an object
 * that declares some for it, too. Deleted and set again, they would leave the resource open in between. The heir is recorded
 * as the one that has them before this object lets go of them, so that there is always one that deletes them in the end.
 * docs/decisions/0012 has the rule.
 */
import type { KubeObject } from '../kube/kube-object.ts';
import { ensureAttachedTo, ensureOwnerShown } from './attachment.ts';
import { claimIn } from './claims.ts';
import type { Retiring } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { rivalOf, wasManaged } from './rivals.ts';
import { isDeleting, readStatus } from './spec.ts';

/** Whether what the object claims, which is being deleted, is for another object to keep or to delete. */
export async function isLeft(managed: ManagedObject): Promise<boolean> {
  const { object, kind, claims } = managed;
  if (!kind.isAttached) return (await rivalOf(managed)) !== undefined;
  const id = claimIn(object)?.id;
  if (id === undefined) return false;
  if (isHandedOver(object, id)) return true;
  // It has waited for another one, and that one decides, or has decided.
  if (!wasManaged(managed, id) || (!claimIn(object)?.isConfirmed && claims.rivalOf(object))) return true;
  if (!(await handOver(managed, id))) return false;
  await noteHandedOver(managed, [id]);
  return true;
}

/**
 * The heir decides from now on: if the deletion is interrupted, and the heir has gone by the time that it is continued, nothing
 * is decided twice.
 */
async function noteHandedOver(managed: ManagedObject, ids: readonly string[]): Promise<void> {
  const { handedOver = [] } = readStatus(managed.object);
  if (ids.length > 0) await managed.patchStatus({}, { handedOver: [...handedOver, ...ids] });
}

const isHandedOver = (object: KubeObject, id: string) => (readStatus(object).handedOver ?? []).includes(id);

/** Those of the superseded owners whose modules are another object's from now on. */
export async function handedOver(managed: ManagedObject, entries: readonly Retiring[]): Promise<Retiring[]> {
  const left: Retiring[] = [];
  for (const entry of entries) if (await handOver(managed, entry.id)) left.push(entry);
  return left;
}

/** The same of an object that is being deleted, whose list nobody keeps any more. */
export async function handedOverForGood(managed: ManagedObject, entries: readonly Retiring[]): Promise<Retiring[]> {
  const earlier = entries.filter(({ id }) => isHandedOver(managed.object, id));
  const now = await handedOver(
    managed,
    entries.filter((entry) => !earlier.includes(entry)),
  );
  await noteHandedOver(
    managed,
    now.map(({ id }) => id),
  );
  return [...earlier, ...now];
}

/** Hands the modules of the resource over to an object that declares some, too; false if there is none. */
async function handOver(managed: ManagedObject, id: string): Promise<boolean> {
  const { object, kind, claims } = managed;
  for (const candidate of claims.heirsOf(id, object)) {
    // By a stale cache, two that are deleted at once would each leave the modules to the other.
    const heir = await managed.newestOf(candidate);
    if (!heir || !claims.isHeir(heir.object, id, object)) continue;
    if (!claims.isConfirmed(heir.object, id)) {
      // Each write fails if the heir has been edited or deleted meanwhile.
      await ensureAttachedTo(heir, id);
      await ensureOwnerShown(heir);
      // Of what this process writes, the watch tells it nothing.
      heir.enqueue();
    }
    return true;
  }
  // One that has them already, and is deleted, too, decides for itself.
  const isRetaining = (other: KubeObject) => isDeleting(other) && kind.membersOf(other).deletionPolicy === 'Retain';
  return claims.othersClaiming(id, object).some((other) => claims.isConfirmed(other, id) && isRetaining(other));
}
