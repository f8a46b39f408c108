/**
 * The reconcile of kinds whose objects have no resource of their own. They declare the modules of their owner, the edge or
 * route that they refer to. Setting and deleting modules is idempotent, so nothing has to be created exactly once. The
 * owner is recorded in the annotations and the status before any module is set: the API does not record who set a module,
 * so only these records tell which modules to delete.
 */
import { REASON } from '../contract/reasons.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Blocked, type Remote } from './declaration/external.ts';
import { ownerIdIn } from './declaration/kind.ts';
import type { ManagedSpec } from './declaration/spec.ts';
import { isDeleting, isPaused } from './identity/recorded-status.ts';
import { observedReady, observedSynced } from './object/findings.ts';
import { ManagedObject, type ObjectAccess, type Outcome } from './object/managed-object.ts';
import { observeVisible } from './object/not-found.ts';
import { requireNoRival } from './object/rivals.ts';
import { type ShownFailure, showFailure, showPaused, writeStatus } from './object/status.ts';
import { ensureAttachedTo, ensureOwnerShown, restoreOwnerShown } from './steps/attachment.ts';
import { ensureClaimed, ensureReleased } from './steps/claim.ts';
import { retireSuperseded } from './steps/deletion.ts';
import { finalize } from './steps/finalization.ts';
import { ensureFinalizer } from './steps/intent.ts';
import { ensureIdentity } from './steps/recovery.ts';
import { ensureUpToDate } from './steps/update.ts';

export class AttachedReconciler {
  readonly #access: ObjectAccess;

  constructor(access: ObjectAccess) {
    this.#access = access;
  }

  /** @throws Blocked, StaleObject, and what the clients of the two APIs throw */
  async reconcile(object: KubeObject): Promise<Outcome> {
    const managed = new ManagedObject(object, this.#access);
    // Must run before any condition is written, since conditions make a status count as present.
    if (!isDeleting(object)) await restoreOwnerShown(managed);
    if (isPaused(object)) return showPaused(managed);
    managed.requireConnection();
    if (isDeleting(object)) return finalize(managed);
    await managed.confirmConnection();
    await ensureIdentity(managed);
    await ensureFinalizer(managed);
    const spec = await managed.readSpec();
    const ownerId = ownerIdIn(managed.kind.declared, spec);
    if (spec.managementPolicy === 'Observe') return observeOwner(managed, spec, ownerId);
    const remote = await existingOwner(managed, ownerId);
    await ensureAttachedTo(managed, remote);
    await requireNoRival(managed);
    await ensureClaimed(managed);
    await ensureOwnerShown(managed);
    const current = await ensureUpToDate(managed, spec, { remote, isHeld: true });
    // The old owner loses the modules only after the new one has them.
    const retirement = await retireSuperseded(managed, managed.kind.now());
    await writeStatus(managed, spec, current);
    return managed.outcome(retirement);
  }

  /** Shows in the conditions that the reconcile of the object failed; returns the object as written. */
  recordFailure(object: KubeObject, failure: ShownFailure): Promise<KubeObject> {
    return showFailure(new ManagedObject(object, this.#access), failure);
  }
}

/** `managementPolicy: Observe`: the modules are read and shown, but never written. */
async function observeOwner(managed: ManagedObject, spec: ManagedSpec, ownerId: string): Promise<Outcome> {
  await ensureReleased(managed);
  const remote = await existingOwner(managed, ownerId);
  const synced = observedSynced(managed.kind.external.changes(spec, remote));
  await writeStatus(managed, spec, { remote, ready: observedReady(remote), synced });
  return managed.outcome();
}

/** @throws Blocked when it does not exist */
async function existingOwner(managed: ManagedObject, id: string): Promise<Remote> {
  const remote = await observeVisible(managed, { id, generation: 0 });
  if (remote) return remote;
  throw new Blocked(
    REASON.externalNotFound,
    `${id} does not exist: there is nothing that could have modules; correct the reference`,
  );
}
