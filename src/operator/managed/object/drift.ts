/** Drift: whether the API is still as the last reconcile left it. */
import { CONDITION, REASON } from '../../contract/reasons.ts';
import { type Condition, findCondition, sameStatus } from '../../kube/conditions.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { External, Finding, Remote } from '../declaration/external.ts';
import { type AnyKind, ownerIdIn } from '../declaration/kind.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { claimedId, readIdentity } from '../identity/identity.ts';
import {
  isDeleting,
  isPaused,
  readStatus,
  type UsedInputs,
  type UsedReference,
  type UsedSource,
  wasInSync,
} from '../identity/recorded-status.ts';
import type { ConnectedKind } from './connected-kind.ts';
import { observedSynced } from './findings.ts';

/** The part of a kind that a comparison needs. */
export interface ComparableKind
  extends Pick<ConnectedKind, 'describe' | 'isAttached' | 'expired' | 'now' | 'referencesOf'> {
  declared: Pick<AnyKind, 'conditions' | 'owner'>;
  external: Pick<External<ManagedSpec, Remote>, 'changes'>;
}

/**
 * Whether an object needs a closer look after its family was listed.
 * @param spec undefined if it is invalid, or its inputs are not at hand: the object's own reconcile reports that
 * @param remotes everything listed, by id
 */
export function differs(
  kind: ComparableKind,
  spec: ManagedSpec | undefined,
  object: KubeObject,
  remotes: ReadonlyMap<string, Remote>,
): boolean {
  if (isDeleting(object) || isPaused(object)) return false;
  // An object in sync had valid inputs, so something has changed since.
  if (!spec) return wasInSync(readStatus(object), object);
  if (isElsewhere(kind, spec, object) || hasMovedOn(kind, object)) return true;
  if (spec.managementPolicy === 'Observe') return observedDiffers(kind, spec, object, remotes);
  const { externalId } = readIdentity(object);
  if (externalId === undefined) return false;
  const remote = remotes.get(externalId);
  if (!remote || kind.external.changes(spec, remote).length > 0) return true;
  if (endsOtherwise(kind, object, remote)) return true;
  return wasInSync(readStatus(object), object) && describesOtherwise(kind, spec, object, remote);
}

/** Which of the resources a comparison of the object needs. */
export function idsCompared(object: KubeObject): string[] {
  return [readIdentity(object).externalId, claimedId(object), readStatus(object).id].filter((id) => id !== undefined);
}

/** Whether the reference now resolves to another owner, for example one that was recreated while the operator was down. */
function isElsewhere(kind: ComparableKind, spec: ManagedSpec, object: KubeObject): boolean {
  const status = readStatus(object);
  return kind.isAttached && wasInSync(status, object) && ownerIdIn(kind.declared, spec) !== status.id;
}

/**
 * Whether a reference now resolves to another id than the status shows. The operator may have died after the update and
 * before the status, and the former target is kept while a status names it.
 */
function hasMovedOn(kind: ComparableKind, object: KubeObject): boolean {
  const status = readStatus(object);
  // An unchanged spec has as many references as before; most have none.
  if (!wasInSync(status, object) || status.references === undefined) return false;
  const references = kind.referencesOf(object);
  return references !== undefined && hasNewInputs(object, { sources: [], references });
}

/** A difference is drift if the object was in sync. Otherwise, it comes from a change of the spec. */
export function isDrift(object: KubeObject, id: string): boolean {
  const status = readStatus(object);
  return status.id === id && wasInSync(status, object);
}

/** Whether an input has another value than at the last successful reconcile. */
export function hasNewInputs(object: KubeObject, used: UsedInputs | undefined): boolean {
  const { sources = [], references = [] } = readStatus(object);
  const isNewText = ({ field, digest }: UsedSource) =>
    !sources.some((each) => each.field === field && each.digest === digest);
  const isNewId = ({ field, id }: UsedReference) => !references.some((each) => each.field === field && each.id === id);
  return used !== undefined && (used.sources.some(isNewText) || used.references.some(isNewId));
}

/** Whether the status of an object that only observes is out of date, including when the resource is gone. */
function observedDiffers(
  kind: ComparableKind,
  spec: ManagedSpec,
  object: KubeObject,
  remotes: ReadonlyMap<string, Remote>,
): boolean {
  // An attached kind names what it observes in its spec, not in an annotation.
  const id = kind.isAttached ? readStatus(object).id : claimedId(object);
  if (id === undefined) return false;
  const remote = remotes.get(id);
  const status = readStatus(object);
  const synced = findCondition(status.conditions ?? [], CONDITION.synced);
  if (!remote) return synced?.status === 'True';
  return (
    endsOtherwise(kind, object, remote) ||
    describesOtherwise(kind, spec, object, remote) ||
    synced?.message !== observedSynced(kind.external.changes(spec, remote)).message
  );
}

/** Whether the status no longer says what it would say now: the service has changed a value, or time has passed. */
function describesOtherwise(kind: ComparableKind, spec: ManagedSpec, object: KubeObject, remote: Remote): boolean {
  const status = readStatus(object);
  const described = Object.entries(kind.describe(spec, remote, object));
  const concluded = Object.entries(kind.declared.conditions?.(spec, remote, kind.now()) ?? {});
  return (
    described.some(([name, value]) => !sameStatus(status[name], value)) ||
    concluded.some(([type, finding]) => !says(findCondition(status.conditions ?? [], type), finding))
  );
}

const says = (known: Condition | undefined, { status, reason, message }: Finding) =>
  known?.status === status && known.reason === reason && known.message === message;

/** Whether the resource has expired, or its end was put off, since the status was written. */
function endsOtherwise(kind: ComparableKind, object: KubeObject, remote: Remote): boolean {
  const ready = findCondition(readStatus(object).conditions ?? [], CONDITION.ready);
  const isOver = kind.expired(remote, kind.now()) !== undefined;
  return isOver ? ready?.status === 'True' : ready?.reason === REASON.expired;
}
