/**
 * Decides whether the recorded resource can stay. If not, the identity is changed so that the next create replaces it, or
 * a replacement is rolled back.
 */
import { EVENT_REASON } from '../../contract/reasons.ts';
import type { Delivery, Remote, Renewal } from '../declaration/external.ts';
import type { Handout } from '../declaration/handout.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { everythingOf, knows, nextGeneration, readIdentity } from '../identity/identity.ts';
import { specPaths } from '../object/findings.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { observeVisible } from '../object/not-found.ts';
import { ROTATION_ENDED } from '../secrets/begun-rotation.ts';
import { isRotationBegun, rotationHandled } from '../secrets/rotation.ts';
import { requireDeliverable } from './handover.ts';
import { closeCreates } from './recovery.ts';
import { announce, resumeRotation, rotate } from './rotation.ts';

export interface FoundRemote {
  remote: Remote;
  /** Whether what it hands out is in the Secret; always true for kinds that hand out nothing. */
  isHeld: boolean;
}

/** Undefined if there is no resource, or it has to be replaced; the identity then says what to create. */
export async function findRemote(managed: ManagedObject, spec: ManagedSpec): Promise<FoundRemote | undefined> {
  const { delivery } = managed.kind;
  const { externalId, generation } = readIdentity(managed.object);
  if (externalId === undefined) return findRolledBack(managed, spec);
  const remote = await observeVisible(managed, { id: externalId, generation });
  if (!remote) return recreate(managed, externalId);
  const changed = changedForGood(managed, spec, remote);
  if (changed) return (await findRolledBack(managed, spec)) ?? supersede(managed, spec, remote, changed);
  const resumed = await resumeRotation(managed, spec);
  const current = resumed ?? remote;
  const renewal = delivery?.renewal(managed.object, spec, current, managed.kind.now());
  if (renewal?.due) return renew(managed, spec, current, renewal.due);
  if (resumed) return { remote: resumed, isHeld: true };
  const held = delivery ? await delivery.deliver(managed, spec, remote) : 'held';
  // The token of an adopted credential was never known here: leave the credential alone until a rotation is requested.
  if (delivery && held === 'lost' && generation > 0) return reissue(managed, spec, remote, delivery);
  return { remote, isHeld: held === 'held' };
}

/** Has the resource issue another value if it can, or else replaces it. */
async function renew(
  managed: ManagedObject,
  spec: ManagedSpec,
  remote: Remote,
  renewal: Renewal,
): Promise<FoundRemote | undefined> {
  if (!managed.kind.external.rotate) return supersede(managed, spec, remote, renewal);
  return { remote: await rotate(managed, spec, remote, renewal), isHeld: true };
}

async function reissue(
  managed: ManagedObject,
  spec: ManagedSpec,
  remote: Remote,
  delivery: Delivery<ManagedSpec, Remote>,
): Promise<FoundRemote | undefined> {
  const { uid } = managed.object.metadata;
  const pauseUntil = managed.reissueBackoff.pauseUntil(uid, managed.kind.now());
  if (pauseUntil) {
    managed.retry(pauseUntil);
    return { remote, isHeld: false };
  }
  const renewal = lost(delivery.handout, delivery.lostOverlapMs(spec));
  const found = await renew(managed, spec, remote, renewal);
  managed.reissueBackoff.reissued(uid, managed.kind.now());
  return found;
}

async function findRolledBack(managed: ManagedObject, spec: ManagedSpec): Promise<FoundRemote | undefined> {
  return (await rollBack(managed, spec)) ? findRemote(managed, spec) : undefined;
}

/**
 * Makes a superseded resource current again if it fits the spec again; false if none does. A route that is being moved keeps
 * its path until its successor serves. If the user undoes the move, the API would refuse a new route for the old path.
 */
export async function rollBack(managed: ManagedObject, spec: ManagedSpec): Promise<boolean> {
  const { kind, object } = managed;
  // A resource that was superseded to replace its token, or on request, must not come back.
  if (kind.delivery?.handout.isOneTime || isRotationBegun(object)) return false;
  const { externalId: successor, retiring } = readIdentity(object);
  // The last one was current most recently.
  for (const { id } of retiring.toReversed()) {
    const remote = await kind.external.observe(id);
    if (remote && fits(managed, spec, remote)) return makeCurrent(managed, id, successor);
    if (remote && successor === undefined) managed.replaces ??= `A new resource replaces ${id}`;
  }
  return false;
}

function fits({ kind, object }: ManagedObject, spec: ManagedSpec, remote: Remote): boolean {
  if (kind.external.immutableChanges(spec, remote).length > 0) return false;
  return kind.delivery?.renewal(object, spec, remote, kind.now()).due === undefined;
}

async function makeCurrent(managed: ManagedObject, id: string, successor: string | undefined): Promise<boolean> {
  await managed.mustBeNewest();
  // The create of a successor may have taken effect, or may still do so.
  const identity = await closeCreates(managed);
  if (!knows(identity, id)) return false;
  const entries = everythingOf(identity);
  const isAdopted = entries.some((entry) => entry.id === id && entry.generation === 0);
  const now = managed.kind.now().toISOString();
  const others = entries.filter((entry) => entry.id !== id);
  await managed.persist({
    externalId: id,
    generation: isAdopted ? 0 : identity.generation,
    createKey: undefined,
    retiring: others.map((entry) => ({ ...entry, after: entry.after || now })),
  });
  if (successor === undefined) return true;
  const message = `The spec asks for ${id} again, which takes the place of ${successor}`;
  managed.recordEvent('Normal', EVENT_REASON.replaced, message);
  return true;
}

/**
 * The recorded resource no longer exists. A stale replica of the API may report that in error, so the resource is still
 * deleted once it has a successor.
 */
async function recreate(managed: ManagedObject, id: string): Promise<undefined> {
  const next = nextGeneration(readIdentity(managed.object), { id, now: managed.kind.now(), overlapMs: 0 });
  await managed.persist(next, asRotated(managed));
  managed.reissued = 'gone';
  managed.recordEvent('Warning', EVENT_REASON.recreated, `${id} no longer exists; creating a new one`);
}

/** Makes the next create replace the resource, and records how long the current one is to stay. */
export async function supersede(
  managed: ManagedObject,
  spec: ManagedSpec,
  remote: Remote,
  renewal: Renewal,
): Promise<undefined> {
  await requireDeliverable(managed, spec);
  const retire = { id: remote.id, now: managed.kind.now(), overlapMs: renewal.overlapMs };
  const next = nextGeneration(readIdentity(managed.object), retire);
  await managed.persist(next, asRotated(managed));
  const isOneTime = managed.kind.delivery?.handout.isOneTime;
  if (renewal.cause !== 'changed' && isOneTime) return void announce(managed, renewal);
  managed.replaces = renewal.message;
  managed.reissued = renewal.cause;
}

/** Why a new resource has to replace this one; undefined if it can stay. */
export function changedForGood({ kind }: ManagedObject, spec: ManagedSpec, remote: Remote): Renewal | undefined {
  const changes = kind.external.replacingChanges(spec, remote);
  if (changes.length === 0) return undefined;
  const message = `${specPaths(changes)} changed, which ${remote.id} cannot take: a new resource replaces it`;
  return { cause: 'changed', overlapMs: 0, message };
}

/** Any new resource handles a requested rotation: another one would only revoke a fresh token. */
const asRotated = ({ kind, object }: ManagedObject) =>
  kind.delivery ? { ...rotationHandled(object), ...ROTATION_ENDED } : {};

/** The renewal of a one-time value that is no longer stored. */
export function lost({ what }: Pick<Handout, 'what'>, overlapMs = 0): Renewal {
  const old = overlapMs === 0 ? 'revoking the old one' : `the old one keeps working for another ${overlapMs / 1000} s`;
  const message = `The ${what} is no longer in its Secret; issuing a new one and ${old}`;
  return { cause: 'lost', overlapMs, message };
}
