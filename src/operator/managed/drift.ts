/** Whether the API is still as the last reconcile left it. Pure. */
import { CONDITION } from '../contract/reasons.ts';
import { findCondition, sameStatus } from '../kube/conditions.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { ConnectedKind } from './connected-kind.ts';
import type { External, Remote } from './external.ts';
import { observedSynced } from './findings.ts';
import { claimOf, readIdentity } from './identity.ts';
import { isDeleting, isPaused, type ManagedSpec, readStatus, wasInSync } from './spec.ts';

/** What a comparison needs of a kind. */
export interface ComparableKind extends Pick<ConnectedKind, 'describe'> {
  external: Pick<External<ManagedSpec, Remote>, 'changes'>;
}

/**
 * Whether an object needs a closer look after its family was listed.
 * @param spec undefined when it does not parse: that is for the object's own reconcile to say
 * @param remotes everything that the list had, by id
 */
export function differs(
  kind: ComparableKind,
  spec: ManagedSpec | undefined,
  object: KubeObject,
  remotes: ReadonlyMap<string, Remote>,
): boolean {
  if (!spec || isDeleting(object) || isPaused(object)) return false;
  if (spec.managementPolicy === 'Observe') return observedDiffers(kind, spec, object, remotes);
  const { externalId } = readIdentity(object);
  if (externalId === undefined) return false;
  const remote = remotes.get(externalId);
  return !remote || kind.external.changes(spec, remote).length > 0;
}

/** What was left right and is not so any more was changed by somebody else; anything else is a change of the spec. */
export function isDrift(object: KubeObject, id: string): boolean {
  const status = readStatus(object);
  return status.id === id && wasInSync(status, object);
}

/** Whether the status of an object that only observes does not say what there is to see; nothing, when it is gone. */
function observedDiffers(
  kind: ComparableKind,
  spec: ManagedSpec,
  object: KubeObject,
  remotes: ReadonlyMap<string, Remote>,
): boolean {
  const id = claimOf(object);
  if (id === undefined) return false;
  const remote = remotes.get(id);
  const status = readStatus(object);
  const synced = findCondition(status.conditions ?? [], CONDITION.synced);
  if (!remote) return synced?.status === 'True';
  const described = Object.entries(kind.describe(spec, remote, object));
  return (
    described.some(([name, value]) => !sameStatus(status[name], value)) ||
    synced?.message !== observedSynced(kind.external.changes(spec, remote)).message
  );
}
