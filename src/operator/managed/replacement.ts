/** Whether the recorded resource can stay; if not, the identity is changed so that the next create replaces it. */
import { EVENT_REASON } from '../contract/reasons.ts';
import { observeSurely } from './absence.ts';
import type { Delivery, Remote, Renewal } from './external.ts';
import { specPaths } from './findings.ts';
import { nextGeneration, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { rotationHandled } from './rotation.ts';
import type { ManagedSpec } from './spec.ts';
import { takeBack } from './taking-back.ts';

export interface FoundRemote {
  remote: Remote;
  /** Whether what it hands out is in the Secret; always true for kinds that hand out nothing. */
  isHeld: boolean;
}

/** Undefined if there is no resource, or it has to be replaced; the identity then says what to create. */
export async function findRemote(managed: ManagedObject, spec: ManagedSpec): Promise<FoundRemote | undefined> {
  const { delivery } = managed.kind;
  const { externalId, generation } = readIdentity(managed.object);
  if (externalId === undefined) return findAgain(managed, spec);
  const remote = await observeSurely(managed, { id: externalId, generation });
  if (!remote) return recreate(managed, externalId);
  const changed = changedForGood(managed, spec, remote);
  if (changed) return (await findAgain(managed, spec)) ?? supersede(managed, spec, remote, changed);
  const renewal = delivery?.renewal(managed.object, spec, remote, new Date());
  if (renewal?.due) return supersede(managed, spec, remote, renewal.due);
  const held = delivery ? await delivery.deliver(managed, spec, remote) : 'held';
  // The token of an adopted credential was never known here: leave the credential alone until a rotation is requested.
  if (delivery && held === 'lost' && generation > 0) return reissue(managed, spec, remote, delivery);
  return { remote, isHeld: held === 'held' };
}

/** What is lost again and again is not issued anew each time: something may undo every write. */
async function reissue(
  managed: ManagedObject,
  spec: ManagedSpec,
  remote: Remote,
  delivery: Delivery<ManagedSpec, Remote>,
): Promise<FoundRemote | undefined> {
  const { uid } = managed.object.metadata;
  const pauseUntil = managed.losses.pauseUntil(uid, new Date());
  if (pauseUntil) {
    managed.retry(pauseUntil);
    return { remote, isHeld: false };
  }
  await supersede(managed, spec, remote, lost(delivery));
  managed.losses.reissued(uid, new Date());
  return undefined;
}

/** What was superseded, and is taken back. */
async function findAgain(managed: ManagedObject, spec: ManagedSpec): Promise<FoundRemote | undefined> {
  return (await takeBack(managed, spec)) ? findRemote(managed, spec) : undefined;
}

/**
 * The recorded resource no longer exists, says the API. A replica that is behind may say so of one that does: it is deleted
 * once it has a successor, which is harmless if there is nothing to delete.
 */
async function recreate(managed: ManagedObject, id: string): Promise<undefined> {
  const next = nextGeneration(readIdentity(managed.object), { id, after: new Date() });
  await managed.persist(next, asRotated(managed));
  managed.reissued = 'gone';
  managed.recordEvent('Warning', EVENT_REASON.recreated, `${id} no longer exists; creating a new one`);
}

/** Makes the next create replace the resource, and records when the current one is to be deleted. */
export async function supersede(
  managed: ManagedObject,
  spec: ManagedSpec,
  remote: Remote,
  renewal: Renewal,
): Promise<undefined> {
  await mustBeDeliverable(managed, spec);
  const after = new Date(Date.now() + renewal.overlapMs);
  const next = nextGeneration(readIdentity(managed.object), { id: remote.id, after });
  await managed.persist(next, asRotated(managed));
  const isOneTime = managed.kind.delivery?.handout.isOneTime;
  if (renewal.cause === 'lost') managed.recordEvent('Warning', EVENT_REASON.tokenReissued, renewal.message);
  else if (renewal.cause === 'changed' || !isOneTime) managed.replaces = renewal.message;
  else managed.recordEvent('Normal', EVENT_REASON.tokenRotated, renewal.message);
  managed.reissued = renewal.cause;
}

/** Why the resource has to make way for a new one with the same spec; undefined if it can stay. */
export function changedForGood({ kind }: ManagedObject, spec: ManagedSpec, remote: Remote): Renewal | undefined {
  const changes = kind.external.replacingChanges(spec, remote);
  if (changes.length === 0) return undefined;
  const message = `${specPaths(changes)} changed, which ${remote.id} cannot take: a new resource replaces it`;
  return { cause: 'changed', overlapMs: 0, message };
}

/** What is new for another reason is newer than any request, too: another one right after it would revoke it in vain. */
const asRotated = ({ kind, object }: ManagedObject) => (kind.delivery ? rotationHandled(object) : {});

/**
 * Ensures that no token is issued in vain: for an object or a namespace that is being deleted, or where the Secret cannot be
 * written. A Secret that is gone may be the first sign of that.
 */
export async function mustBeDeliverable(managed: ManagedObject, spec: ManagedSpec): Promise<void> {
  await managed.mustBeNewest();
  await managed.kind.delivery?.prepare(managed.object, spec);
}

/** The renewal of a one-time value that nobody has any more. */
export function lost({ handout }: Pick<Delivery<never, never>, 'handout'>): Renewal {
  const message = `The ${handout.what} is no longer in its Secret; issuing a new one and revoking the old one`;
  return { cause: 'lost', overlapMs: 0, message };
}
