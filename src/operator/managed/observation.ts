/** `managementPolicy: Observe`: the resource is read and shown, but never written; what it superseded is still retired. */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { Blocked } from './external.ts';
import { observedReady, observedSynced } from './findings.ts';
import { claimOf } from './identity.ts';
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
    const message = `managementPolicy Observe requires the annotation ${ANNOTATION.adopt} with the id to observe`;
    throw new Blocked(REASON.nothingToObserve, message);
  }
  const remote = await external.observe(id);
  if (!remote) throw new Blocked(REASON.externalNotFound, `${id} does not exist`);
  const synced = observedSynced(external.changes(spec, remote));
  await writeStatus(managed, spec, { remote, ready: observedReady(remote), synced });
  return managed.outcome(nextRetirement);
}
