/**
 * The reconcile of kinds whose objects have no resource of their own, but settings of one that they refer to: the modules
 * of an edge or a route. Setting and deleting them is idempotent, so that nothing has to be created exactly once. What
 * remains is to know what to delete: the owner of the settings is recorded, in the annotations and in the status, before
 * anything is set there. Unlike what was created, nothing in the API says who has set it: without either record, what is set
 * at an owner that the spec does not name any more cannot be told from what others have set.
 */
import { REASON } from '../contract/reasons.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { observeSurely } from './absence.ts';
import { ensureAttachedTo, ensureOwnerShown, restoreOwnerShown } from './attachment.ts';
import { retireSuperseded } from './disposal.ts';
import { Blocked, type Remote } from './external.ts';
import { finalize } from './finalization.ts';
import { observedReady, observedSynced } from './findings.ts';
import { readIdentity } from './identity.ts';
import { ensureFinalizer } from './intent.ts';
import { ownerIdIn } from './kind.ts';
import { ManagedObject, type ObjectAccess, type Outcome } from './managed-object.ts';
import { ensureIdentity } from './recovery.ts';
import { mustHaveNoRival, wasManaged } from './rivals.ts';
import { isDeleting, isPaused, type ManagedSpec } from './spec.ts';
import { type ShownFailure, showFailure, showPaused, writeStatus } from './status.ts';
import { ensureUpToDate } from './update.ts';

export class AttachedReconciler {
  readonly #access: ObjectAccess;

  constructor(access: ObjectAccess) {
    this.#access = access;
  }

  /** @throws Blocked, StaleObject, and what the clients of the two APIs throw */
  async reconcile(object: KubeObject): Promise<Outcome> {
    const managed = new ManagedObject(object, this.#access);
    // Before a condition says that it is paused.
    if (!isDeleting(object)) await restoreOwnerShown(managed);
    if (isPaused(object)) return showPaused(managed);
    if (isDeleting(object)) return finalize(managed);
    await ensureIdentity(managed);
    await ensureFinalizer(managed);
    const spec = await managed.readSpec();
    const ownerId = ownerIdIn(managed.kind.declared, spec);
    if (spec.managementPolicy === 'Observe') return observeOwner(managed, spec, ownerId);
    await ensureAttachedTo(managed, ownerId);
    await mustHaveNoRival(managed);
    await ensureOwnerShown(managed);
    const remote = await existingOwner(managed, ownerId);
    const current = await ensureUpToDate(managed, spec, { remote, isHeld: true });
    // Only now, when what the old owner had is set at the new one.
    const retirement = await retireSuperseded(managed, new Date());
    await writeStatus(managed, spec, current);
    return managed.outcome(retirement);
  }

  /** Shows in the conditions that the reconcile of the object failed; returns the object as written. */
  recordFailure(object: KubeObject, failure: ShownFailure): Promise<KubeObject> {
    return showFailure(new ManagedObject(object, this.#access), failure);
  }
}

/** `managementPolicy: Observe`: the settings are read and shown, but never written. */
async function observeOwner(managed: ManagedObject, spec: ManagedSpec, ownerId: string): Promise<Outcome> {
  await mustHaveNoOther(managed, ownerId);
  const remote = await existingOwner(managed, ownerId);
  const synced = observedSynced(managed.kind.external.changes(spec, remote));
  await writeStatus(managed, spec, { remote, ready: observedReady(remote), synced });
  return managed.outcome();
}

/**
 * What it managed before is not forgotten, and what it only observes does not become what it manages.
 * @throws Blocked when it has modules of another owner
 */
async function mustHaveNoOther(managed: ManagedObject, ownerId: string): Promise<void> {
  const { object, claims } = managed;
  const { externalId: id } = readIdentity(object);
  if (id === undefined || id === ownerId || !wasManaged(managed, id)) return;
  if (claims.othersClaiming(id, object).some((other) => claims.isConfirmed(other, id))) return;
  if (!(await observeSurely(managed, { id, generation: 0 }))) return;
  throw managesOther(id);
}

/** What an object says that is to observe one owner, and has the modules of another. */
export function managesOther(id: string): Blocked {
  const remedy = 'refer to that one as long as managementPolicy is Observe, or set it to Manage to move them';
  return new Blocked(REASON.rejected, `the modules of ${id} are managed by this object: ${remedy}`);
}

/** @throws Blocked when it does not exist */
async function existingOwner(managed: ManagedObject, id: string): Promise<Remote> {
  const remote = await observeSurely(managed, { id, generation: 0 });
  if (remote) return remote;
  throw new Blocked(
    REASON.externalNotFound,
    `${id} does not exist: there is nothing to set the modules of; correct the reference`,
  );
}
