/**
 * `managementPolicy: Observe`: the resource is read and shown, but never written. Superseded resources are still deleted when
 * they are due. A create that was under way is resumed once the object is managed again, or undone when it is deleted.
 */
import { ANNOTATION } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../declaration/external.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { claimedId, namesNoResource, readIdentity } from '../identity/identity.ts';
import { earliest } from '../identity/schedule.ts';
import { observedReady, observedSynced } from '../object/findings.ts';
import type { ManagedObject, Outcome } from '../object/managed-object.ts';
import { observeVisible } from '../object/not-found.ts';
import { requireAdoptionGrant } from '../object/permissions.ts';
import { writeStatus } from '../object/status.ts';
import { requireId } from './adoption.ts';
import { ensureReleased } from './claim.ts';
import { retireSuperseded } from './deletion.ts';

/** @throws Blocked when the object names no resource */
export function idToObserve(object: KubeObject): string {
  // What is being replaced stays current until its successor is recorded.
  const id = claimedId(object) ?? readIdentity(object).retiring.at(-1)?.id;
  if (id !== undefined) return id;
  const message = `There is nothing to observe: set the annotation ${ANNOTATION.adopt} to the id of a resource, or managementPolicy to Manage`;
  throw new Blocked(REASON.nothingToObserve, message);
}

/** @throws Blocked when no id is given, or the resource does not exist */
export async function observeOnly(managed: ManagedObject, spec: ManagedSpec): Promise<Outcome> {
  const { kind } = managed;
  const { external } = kind;
  await ensureReleased(managed);
  const nextRetirement = await retireSuperseded(managed, kind.now());
  const id = idToObserve(managed.object);
  const { generation } = readIdentity(managed.object);
  const isOwn = !namesNoResource(managed.object);
  if (!isOwn) requireAdoptionGrant(managed);
  requireId(managed, id);
  const remote = await observeVisible(managed, { id, generation });
  if (!remote) {
    const remedy = isOwn
      ? 'set managementPolicy to Manage to have it created again'
      : `correct the annotation ${ANNOTATION.adopt}`;
    throw new Blocked(REASON.externalNotFound, `${id} does not exist: ${remedy}`);
  }
  const synced = observedSynced(external.changes(spec, remote));
  const now = kind.now();
  await writeStatus(managed, spec, {
    remote,
    ready: kind.expired(remote, now) ?? observedReady(remote),
    synced,
  });
  return managed.outcome(earliest(nextRetirement, kind.refreshAt(remote, now)));
}
