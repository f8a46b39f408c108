/**
 * Claiming resources at the API, which records one manager for each. The annotation with the manager tells that this was
 * done, so that a steady state needs no request.
 */
import { clusterOf, type Manager, nameOfManager } from '../../../resources/definition/manager.ts';
import { ANNOTATION } from '../../contract/names.ts';
import { EVENT_REASON } from '../../contract/reasons.ts';
import { annotation } from '../../kube/kube-object.ts';
import { everythingOf, readIdentity } from '../identity/identity.ts';
import { isClaimed, isContested } from '../identity/manager.ts';
import { isReconcileRequested } from '../identity/recorded-status.ts';
import { otherManager } from '../object/failure.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { rivalOf } from '../object/rivals.ts';

/**
 * Claims what the annotations name, unless that was done before. It was not for an object that was upgraded or restored, or
 * that is a copy, whose resource belongs to the original. A requested reconcile always asks the API.
 * @throws ApiError naming the manager, if there is another one
 */
export async function ensureClaimed(managed: ManagedObject): Promise<void> {
  const { object, kind, manager } = managed;
  if (isClaimed(object, manager) && !isContested(object) && !isReconcileRequested(object)) return;
  const ids = everythingOf(readIdentity(object)).map(({ id }) => id);
  if (ids.length === 0 || kind.membersOf(object).managementPolicy === 'Observe') return;
  // Within a cluster, precedence depends on all objects that claim the resource; that is reported later.
  if (await rivalOf(managed)) return;
  for (const id of ids) await claim(managed, id);
  if (isClaimed(object, manager) && annotation(object, ANNOTATION.takeOver) === undefined) return;
  await managed.persist(readIdentity(object), claimedBy(manager));
}

/**
 * The annotations to write once the API has recorded the manager. A request to take over counts once: two objects that
 * name each other must not go on taking the resource from each other.
 */
export const claimedBy = ({ id }: Manager) => ({ [ANNOTATION.manager]: id, [ANNOTATION.takeOver]: null });

/** @throws ApiError naming the manager, if there is another one that keeps the resource */
export async function claim(managed: ManagedObject, id: string): Promise<void> {
  const { kind, manager } = managed;
  try {
    await kind.external.claim(id, { manager });
  } catch (error) {
    const other = otherManager(error);
    if (!other || !(await mayTakeOver(managed, other))) throw error;
    await kind.external.claim(id, { manager, takeOverFrom: other.id });
    managed.recordEvent('Normal', EVENT_REASON.takenOver, `Took over ${id} from ${nameOfManager(other)}`);
  }
}

/** Whether it is claimed now; false if another manager keeps it. */
export async function tryToClaim(managed: ManagedObject, id: string): Promise<boolean> {
  try {
    await claim(managed, id);
    return true;
  } catch (error) {
    if (otherManager(error)) return false;
    throw error;
  }
}

/** Whether the other manager is to lose its resource to this object, or no longer exists. */
async function mayTakeOver(managed: ManagedObject, other: Manager): Promise<boolean> {
  const { object, cluster } = managed;
  if (annotation(object, ANNOTATION.takeOver) === other.id) return true;
  const where = clusterOf(other.id);
  if (where !== cluster.id) return cluster.takesOverFrom.includes(where);
  // Of the objects that this operator knows, this one has precedence: `rivalOf` has found no other.
  return managed.knows(other) || managed.isGone(other);
}

/** Lets another object claim the resource. */
export async function release(managed: ManagedObject, id: string): Promise<void> {
  const { object, kind, manager } = managed;
  if (!isClaimed(object, manager)) return;
  try {
    await kind.external.release(id, { manager });
  } catch (error) {
    // It was taken over.
    if (!otherManager(error)) throw error;
  }
}

/** An object that only observes manages nothing. */
export async function ensureReleased(managed: ManagedObject): Promise<void> {
  if (!isClaimed(managed.object, managed.manager)) return;
  // With a stale cache, it may manage the resource again.
  await managed.mustBeNewest();
  const identity = readIdentity(managed.object);
  if (identity.externalId !== undefined) await release(managed, identity.externalId);
  await managed.persist(identity, { [ANNOTATION.manager]: null });
}
