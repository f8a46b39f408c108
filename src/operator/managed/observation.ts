/** `managementPolicy: Observe`: the resource is read and shown, but never written; what it superseded is still retired. */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { mustBeId } from './adoption.ts';
import { Blocked } from './external.ts';
import { observedReady, observedSynced } from './findings.ts';
import { claimOf, readIdentity } from './identity.ts';
import type { ManagedObject, Outcome } from './managed-object.ts';
import type { ManagedSpec } from './spec.ts';
import { writeStatus } from './status.ts';

/** @throws Blocked when no id is given, or the resource does not exist */
export async function observeOnly(
  managed: ManagedObject,
  spec: ManagedSpec,
  nextRetirement: Date | undefined,
): Promise<Outcome> {
  const { external } = managed.kind;
  const id = claimOf(managed.object);
  if (id === undefined) {
    const message = `There is nothing to observe: set the annotation ${ANNOTATION.adopt} to the id of a resource, or managementPolicy to Manage`;
    throw new Blocked(REASON.nothingToObserve, message);
  }
  mustBeId(managed, id);
  const remote = await external.observe(id);
  if (!remote) {
    const isOwn = readIdentity(managed.object).externalId !== undefined;
    const remedy = isOwn
      ? 'set managementPolicy to Manage to have it created again'
      : `correct the annotation ${ANNOTATION.adopt}`;
    throw new Blocked(REASON.externalNotFound, `${id} does not exist: ${remedy}`);
  }
  const synced = observedSynced(external.changes(spec, remote));
  await writeStatus(managed, spec, { remote, ready: observedReady(remote), synced });
  return managed.outcome(nextRetirement);
}
