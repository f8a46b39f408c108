/** Making the remote resource match the spec. */
import { EVENT_REASON } from '../../contract/reasons.ts';
import { type Remote, requireChangeable } from '../declaration/external.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { readIdentity } from '../identity/identity.ts';
import { hasNewInputs, isDrift } from '../object/drift.ts';
import {
  available,
  driftCorrected,
  specPaths,
  tokenLostAgain,
  tokenUnavailable,
  UP_TO_DATE,
  unchanged,
} from '../object/findings.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import type { CurrentState } from '../object/status.ts';
import { guarded } from './guarding.ts';
import type { FoundRemote } from './replacement.ts';

export async function ensureUpToDate(
  managed: ManagedObject,
  spec: ManagedSpec,
  { remote, isHeld }: FoundRemote,
): Promise<CurrentState> {
  const { kind } = managed;
  const { external, delivery } = kind;
  const isUnavailable = delivery !== undefined && !isHeld;
  const { generation } = readIdentity(managed.object);
  const unavailable = generation > 0 ? tokenLostAgain : tokenUnavailable;
  const { spec: allowed, waiting } = await guarded(managed, spec, remote);
  const readyOf = (newest: Remote) =>
    waiting ??
    kind.expired(newest, kind.now()) ??
    (isUnavailable ? unavailable(newest.id, delivery.handout) : undefined) ??
    kind.declared.unfit?.(spec, newest, generation <= 1) ??
    available(newest);
  const renewAt = delivery?.renewal(managed.object, spec, remote, kind.now()).at;
  const changes = external.changes(allowed, remote);
  if (changes.length === 0) {
    return { remote, ready: readyOf(remote), synced: waiting ?? unchanged(managed.object), renewAt };
  }
  requireChangeable(external, allowed, remote);
  // Another process may have made the difference for a newer version of the object, or the object may be gone.
  await managed.mustBeNewest();
  const updated = await external.update(remote, allowed, { manager: managed.manager });
  const synced = reportUpdate(managed, remote, specPaths(changes));
  return { remote: updated, ready: readyOf(updated), synced: waiting ?? synced, renewAt };
}

/** Reports an update as drift if the last reconcile had left the resource in sync. */
function reportUpdate(managed: ManagedObject, remote: Remote, fields: string) {
  const { object, inputs } = managed;
  if (!isDrift(object, remote.id) || hasNewInputs(object, inputs)) {
    managed.recordEvent('Normal', EVENT_REASON.updated, `Updated ${fields} of ${remote.id}`);
    return UP_TO_DATE;
  }
  const synced = driftCorrected(remote, fields);
  managed.metrics.driftCorrected.inc({ kind: managed.kind.name });
  managed.recordEvent('Warning', EVENT_REASON.driftCorrected, synced.message);
  return synced;
}
