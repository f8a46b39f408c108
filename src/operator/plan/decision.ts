/** What the operator would do at the API for one object: the same decisions as its reconcile takes, without a write. */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { type DerivedKind, isAttached } from '../export/spec-members.ts';
import type { AttachedKind } from '../kinds/attached-kind.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import {
  Blocked,
  type CreateScope,
  type External,
  type Remote,
  requireChangeable,
} from '../managed/declaration/external.ts';
import { type AnyKind, ownerIdIn } from '../managed/declaration/kind.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { dueForRetirement, readIdentity } from '../managed/identity/identity.ts';
import { isPaused, shownIdentity } from '../managed/identity/recorded-status.ts';
import { namesOnlyOwn } from '../managed/identity/recovered-identity.ts';
import { specPaths } from '../managed/object/findings.ts';
import { wasManaged } from '../managed/object/rivals.ts';
import { rotationHandled } from '../managed/secrets/rotation.ts';
import { idToAdopt } from '../managed/steps/adoption.ts';
import { hasNoModules } from '../managed/steps/attachment.ts';
import { idToObserve } from '../managed/steps/observation.ts';
import { isNew } from './desired-cluster.ts';
import type { Action } from './planned.ts';

export interface Decision {
  action: Action;
  /** The existing resource; undefined if it is not compared. */
  remote?: Remote;
  /** Default: that of `remote`. */
  id?: string;
  reason?: string;
  /** The members that differ from those of the resource; undefined if there is none. */
  changed?: readonly string[];
  /** Whether it stays and issues another value. */
  isRotated?: boolean;
}

export type AnyExternal = External<ManagedSpec, Remote>;

/**
 * For a kind whose objects are resources of a family.
 * @param otherChoice what has to be given for the account that the object uses, if that is not given
 * @throws Blocked, ApiError, ApiUnreachableError
 */
export async function decide(
  delivery: AnyKind['delivery'],
  external: AnyExternal,
  object: KubeObject,
  spec: ManagedSpec,
  otherChoice?: string,
): Promise<Decision> {
  const id = recordedId(object);
  const adopted = id === undefined ? idToAdopt(object) : undefined;
  if (adopted !== undefined) return adoption(delivery, external, object, spec, adopted);
  if (id === undefined) return { action: 'create' };
  if (!external.isId(id)) {
    throw new Blocked(REASON.rejected, `${id}, which ${ANNOTATION.externalId} names, is no id of this kind`);
  }
  const remote = await external.observe(id);
  if (!remote) {
    if (otherChoice !== undefined)
      throw new Blocked(REASON.rejected, `${id} does not exist in this account: plan this object with ${otherChoice}`);
    const isVisible = (await external.sight()) === 'everything';
    if (!isVisible) throw new Blocked(REASON.rejected, `${id} does not exist, or the API key may not see it`);
    return { action: 'create', reason: `${id} no longer exists` };
  }
  const replacing = external.replacingChanges(spec, remote);
  const changed = external.changes(spec, remote);
  if (replacing.length > 0) {
    return { action: 'replace', remote, changed, reason: `${specPaths(replacing)} changed, which ${id} cannot take` };
  }
  const renewal = delivery?.renewal(object, spec, remote, new Date()).due;
  if (renewal) return renewed(external, remote, changed, renewal.message);
  requireChangeable(external, spec, remote);
  return { action: changed.length > 0 ? 'change' : 'none', remote, changed };
}

/** What the renewal of a handed-out value does. */
const renewed = ({ rotate }: AnyExternal, remote: Remote, changed: readonly string[], reason: string): Decision =>
  rotate
    ? { action: 'change', remote, changed, reason, isRotated: true }
    : { action: 'replace', remote, changed, reason };

/** The same checks as adoption in a reconcile. @throws Blocked when it is impossible */
async function adoption(
  delivery: AnyKind['delivery'],
  external: AnyExternal,
  object: KubeObject,
  spec: ManagedSpec,
  id: string,
): Promise<Decision> {
  if (!external.isId(id)) throw new Blocked(REASON.rejected, `${id}, which is to be adopted, is no id of this kind`);
  const remote = await external.observe(id);
  if (!remote) throw new Blocked(REASON.rejected, `${id}, which is to be adopted, does not exist`);
  requireChangeable(external, spec, remote);
  const changed = external.changes(spec, remote);
  const renewal = delivery?.renewal(withoutRequest(object), spec, remote, new Date()).due;
  if (renewal) return renewed(external, remote, changed, `adopted. ${renewal.message}`);
  return { action: changed.length > 0 ? 'change' : 'none', remote, changed, reason: 'adopted' };
}

/** A rotation requested before there was anything to rotate is settled by the adoption. */
function withoutRequest({ metadata, ...object }: KubeObject): KubeObject {
  const annotations = { ...metadata.annotations, ...rotationHandled({ metadata }) };
  return { ...object, metadata: { ...metadata, annotations } };
}

/** For an object that only observes. @throws Blocked if there is nothing to observe, ApiError, ApiUnreachableError */
export async function decideObserved(
  kind: DerivedKind,
  external: AnyExternal,
  object: KubeObject,
  spec: ManagedSpec,
): Promise<Decision> {
  const observed: Decision = { action: 'none', reason: 'only observed' };
  const owner = isAttached(kind) ? ownerIdIn(kind, spec) : undefined;
  // The owner does not exist yet.
  if (owner !== undefined && !external.isId(owner)) return observed;
  const id = owner ?? recordedId(object) ?? idToObserve(object);
  if (!external.isId(id)) throw new Blocked(REASON.rejected, `${id}, which is to be observed, is no id of this kind`);
  if (!(await external.observe(id)))
    throw new Blocked(REASON.rejected, `${id}, which is to be observed, does not exist`);
  return { ...observed, id };
}

/**
 * Superseded resources that fell due during a pause, and are deleted now that it ends.
 * @param before the object as it is in the cluster
 */
export function overdue(before: KubeObject | undefined, object: KubeObject): readonly string[] {
  if (!before || !isPaused(before)) return [];
  return dueForRetirement(readIdentity(object), new Date()).due.map(({ id }) => id);
}

/** For modules of a resource, their owner. @throws Blocked, ApiError, ApiUnreachableError */
export async function decideModules(
  kind: Pick<AttachedKind, 'owner' | 'ownerRef'>,
  external: AnyExternal,
  object: KubeObject,
  spec: ManagedSpec,
): Promise<Decision> {
  const id = ownerIdIn(kind, spec);
  const before = recordedId(object);
  const wasHere = before !== undefined && before !== id && wasManaged({ object, kind: { isAttached: true } }, before);
  const isMoved = wasHere && (await hasModules(external, before));
  const moved = isMoved
    ? { action: 'replace' as const, reason: `spec.${kind.ownerRef} changed: the modules of ${before} are deleted` }
    : undefined;
  // Nothing is known about an owner that does not exist yet.
  if (!external.isId(id)) return moved ?? { action: 'create' };
  const remote = await external.observe(id);
  if (!remote)
    throw new Blocked(
      REASON.rejected,
      `${id} does not exist: there is nothing that could have modules; correct the reference`,
    );
  const changed = external.changes(spec, remote);
  if (moved) return { ...moved, remote, changed };
  if (changed.length > 0 && hasNoModules(remote)) return { action: 'create', id };
  return { action: changed.length > 0 ? 'change' : 'none', remote, changed };
}

/** False for an earlier owner that has no modules or is gone: then nothing is deleted. */
async function hasModules(external: AnyExternal, id: string): Promise<boolean> {
  const owner = external.isId(id) ? await external.observe(id) : undefined;
  return owner !== undefined && !hasNoModules(owner);
}

/** The id of its resource. The status wins: annotations may come from an old manifest or from another object. */
function recordedId(object: KubeObject): string | undefined {
  const shown = shownIdentity(object)?.externalId;
  const { externalId, retiring } = readIdentity(object);
  return shown === undefined || retiring.some(({ id }) => id === shown) ? externalId : shown;
}

/** Whether the resource that its annotations name was created for the object or is in its status, as in a reconcile. */
export async function namesOnlyItsOwn(external: Pick<AnyExternal, 'scope'>, object: KubeObject): Promise<boolean> {
  const [recorded, shown] = [readIdentity(object), shownIdentity(object)];
  if (namesOnlyOwn(recorded, shown, NOTHING_CREATED)) return true;
  return !isNew(object) && namesOnlyOwn(recorded, shown, await external.scope(object.metadata.uid));
}

const NOTHING_CREATED: CreateScope = { resources: [], nextSequence: 1 };
