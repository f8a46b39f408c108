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
import { retireSuperseded } from './disposal.ts';
import { Blocked, type Remote } from './external.ts';
import { finalize } from './finalization.ts';
import { observedReady, observedSynced } from './findings.ts';
import { type Identity, identityInStatus, isBegun, readIdentity } from './identity.ts';
import { ManagedObject, type ObjectAccess, type Outcome } from './managed-object.ts';
import { ensureIdentity } from './recovery.ts';
import { mayRetire, mustHaveNoRival } from './rivals.ts';
import { hasFinalizer, isDeleting, isPaused, type ManagedSpec, shownIdentity } from './spec.ts';
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
    if (isPaused(object)) return showPaused(managed);
    if (isDeleting(object)) return finalize(managed);
    await ensureIdentity(managed);
    const spec = await managed.readSpec();
    const ownerId = managed.kind.ownerOf(spec);
    if (spec.managementPolicy === 'Observe') return observeOwner(managed, spec, ownerId);
    await ensureAttachedTo(managed, ownerId);
    await mustHaveNoRival(managed);
    await showOwner(managed);
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
  // What it managed before is not forgotten.
  if (isBegun(readIdentity(managed.object))) await ensureAttachedTo(managed, ownerId);
  const remote = await existingOwner(managed, ownerId);
  const synced = observedSynced(managed.kind.external.changes(spec, remote));
  await writeStatus(managed, spec, { remote, ready: observedReady(remote), synced });
  return managed.outcome();
}

/** Records the owner in the annotations, which also claims it, and the one before it as superseded. */
async function ensureAttachedTo(managed: ManagedObject, ownerId: string): Promise<void> {
  const { object } = managed;
  const recorded = readIdentity(object);
  if (recorded.externalId === ownerId && !isListed(recorded, ownerId) && hasFinalizer(object)) return;
  // A stale cache could hold an owner that has been superseded since.
  await managed.mustBeNewest();
  const superseded = supersededBy(ownerId, recorded, new Date());
  const retiring = superseded.filter(({ id }) => mayRetire(managed, id, NOTHING_CREATED));
  await managed.persist({ externalId: ownerId, generation: 0, createKey: undefined, retiring });
}

const NOTHING_CREATED = { resources: [], nextSequence: 1 };

const isListed = ({ retiring }: Identity, id: string) => retiring.some((entry) => entry.id === id);

/** What is listed as superseded once the object belongs to another owner. Going back to one takes it off the list. */
export function supersededBy(ownerId: string, { externalId, retiring }: Identity, now: Date): Identity['retiring'] {
  const before = externalId === undefined ? [] : [{ id: externalId, generation: 0, after: now.toISOString() }];
  const others = retiring.filter(({ id }) => id !== externalId);
  return [...others, ...before].filter(({ id }) => id !== ownerId);
}

/**
 * Records the owner in the status, too, before anything is set there: annotations that somebody has edited since must
 * not make the operator delete the settings of a stranger.
 */
async function showOwner(managed: ManagedObject): Promise<void> {
  const identity = readIdentity(managed.object);
  if (shownIdentity(managed.object)?.externalId === identity.externalId) return;
  // Without observedGeneration: what the new owner has is not drift.
  const shown = { id: identity.externalId, ...identityInStatus(identity), observedGeneration: undefined };
  await managed.patchStatus({}, shown);
}

/** @throws Blocked when it does not exist */
async function existingOwner(managed: ManagedObject, id: string): Promise<Remote> {
  const remote = await observeSurely(managed, { id, generation: 0 });
  if (remote) return remote;
  throw new Blocked(REASON.externalNotFound, `${id} does not exist: there is nothing to set the modules of`);
}
