/**
 * The one reconcile of every kind. It takes the newest object, compares it with the API, makes the fewest calls that
 * bring the API in line, and writes the status once, only if it changes.
 *
 * What makes it safe to kill at any point:
 *   1. the finalizer and the create generation are written, in one patch, before anything is created (intent.ts);
 *   2. the create carries a key, and its place in the order of all creates for the object's UID (creation.ts);
 *   3. a one-time token is stored in its Secret before the id is recorded (creation.ts);
 *   4. every write of the object's metadata fails if the object has changed since it was read (managed-object.ts);
 *   5. a deletion first ends all creates for that UID, so that one still in flight cannot leave an orphan
 *      (finalization.ts);
 *   6. the API knows in the name of which object, and of which cluster, each resource is changed (claim.ts);
 *   7. annotations that were lost or edited are restored from what the API knows under that UID (recovery.ts).
 */
import type { KubeObject } from '../kube/kube-object.ts';
import { isDeleting, isPaused } from './identity/recorded-status.ts';
import { earliest } from './identity/schedule.ts';
import { withNote } from './object/findings.ts';
import { ManagedObject, type ObjectAccess, type Outcome } from './object/managed-object.ts';
import { requireAdoptionGrant, requireHandOutGrant } from './object/permissions.ts';
import { requireNoRival } from './object/rivals.ts';
import { type ShownFailure, showFailure, showPaused, writeStatus } from './object/status.ts';
import { ensureAdopted, idToAdopt } from './steps/adoption.ts';
import { ensureClaimed } from './steps/claim.ts';
import { createRemote } from './steps/creation.ts';
import { retireSuperseded } from './steps/deletion.ts';
import { finalize } from './steps/finalization.ts';
import { ensureFinalizer, ensureIntent } from './steps/intent.ts';
import { observeOnly } from './steps/observation.ts';
import { ensureIdentity } from './steps/recovery.ts';
import { findRemote } from './steps/replacement.ts';
import { ensureUpToDate } from './steps/update.ts';

export class ManagedReconciler {
  readonly #access: ObjectAccess;

  constructor(access: ObjectAccess) {
    this.#access = access;
  }

  /** @throws Blocked, StaleObject, and what the clients of the two APIs throw */
  async reconcile(object: KubeObject): Promise<Outcome> {
    const managed = new ManagedObject(object, this.#access);
    if (isPaused(object)) return showPaused(managed);
    managed.requireConnection();
    if (isDeleting(object)) return finalize(managed);
    // Before anything is begun, since it is for good.
    await managed.confirmConnection();
    await ensureIdentity(managed);
    await ensureFinalizer(managed);
    // Before anything is done to the resource, which may be that of another cluster.
    await ensureClaimed(managed);
    // Before the spec is read, since even an invalid spec must not delay this.
    await retireSuperseded(managed, managed.kind.now());
    const spec = await managed.readSpec();
    if (spec.managementPolicy === 'Observe') return observeOnly(managed, spec);
    requireHandOutGrant(managed.kind.declared, spec, managed.mayHandOutUserRights);
    // Before any step that could reveal whether the named resource exists.
    if (idToAdopt(managed.object) !== undefined) requireAdoptionGrant(managed);
    await requireNoRival(managed);
    await ensureAdopted(managed, spec);
    await ensureIntent(managed);
    // If no resource can stay, findRemote has recorded in the identity what to create.
    const remote = (await findRemote(managed, spec)) ?? (await createRemote(managed, spec));
    const current = await ensureUpToDate(managed, spec, remote);
    // Again, for resources that this reconcile has superseded.
    const retirement = await retireSuperseded(managed, managed.kind.now(), current.remote);
    await writeStatus(managed, spec, { ...current, ready: withNote(current.ready, managed.remark) });
    const refresh = managed.kind.refreshAt(current.remote, managed.kind.now());
    return managed.outcome([current.renewAt, retirement, refresh, managed.retryAt].reduce(earliest));
  }

  /** Shows in the conditions that the reconcile of the object failed; returns the object as written. */
  recordFailure(object: KubeObject, failure: ShownFailure): Promise<KubeObject> {
    return showFailure(new ManagedObject(object, this.#access), failure);
  }
}
