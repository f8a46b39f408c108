/** `managementPolicy: Observe`: the resource is read and shown, but never written; what it superseded is still retired. */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { observeSurely } from './absence.ts';
import { mustBeId } from './adoption.ts';
import { retireSuperseded } from './disposal.ts';
import { Blocked } from './external.ts';
import { observedReady, observedSynced } from './findings.ts';
import { claimOf, readIdentity } from './identity.ts';
import type { ManagedObject, Outcome } from './managed-object.ts';
import { mustMayAdopt } from './permissions.ts';
import { earliest } from './schedule.ts';
import type { ManagedSpec } from './spec.ts';
import { writeStatus } from './status.ts';
import { undoCreate } from './undoing.ts';

/** @throws Blocked when the object names no resource */
export function idToObserve(object: KubeObject): string {
  const id = claimOf(object);
  if (id !== undefined) return id;
  const message = `There is nothing to observe: set the annotation ${ANNOTATION.adopt} to the id of a resource, or managementPolicy to Manage`;
  throw new Blocked(REASON.nothingToObserve, message);
}

/** @throws Blocked when no id is given, or the resource does not exist */
export async function observeOnly(managed: ManagedObject, spec: ManagedSpec): Promise<Outcome> {
  const { external } = managed.kind;
  await undoCreate(managed);
  const nextRetirement = await retireSuperseded(managed, new Date());
  const id = idToObserve(managed.object);
  const { externalId, generation } = readIdentity(managed.object);
  const isOwn = externalId !== undefined;
  if (!isOwn) mustMayAdopt(managed);
  mustBeId(managed, id);
  const remote = await observeSurely(managed, { id, generation });
  if (!remote) {
    const remedy = isOwn
      ? 'set managementPolicy to Manage to have it created again'
      : `correct the annotation ${ANNOTATION.adopt}`;
    throw new Blocked(REASON.externalNotFound, `${id} does not exist: ${remedy}`);
  }
  const synced = observedSynced(external.changes(spec, remote));
  const now = new Date();
  await writeStatus(managed, spec, {
    remote,
    ready: managed.kind.expired(remote, now) ?? observedReady(remote),
    synced,
  });
  return managed.outcome(earliest(nextRetirement, managed.kind.refreshAt(remote, now)));
}
