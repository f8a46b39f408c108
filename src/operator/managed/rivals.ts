/** Whether a resource is the object's own, or another object's that claims it. docs/decisions/0012 has the rules. */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { claimIn, goesBefore } from './claims.ts';
import { Blocked, type CreateScope } from './external.ts';
import { knows } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { isDeleting, readStatus, shownIdentity } from './spec.ts';

/** The object that keeps this one from what it claims. */
export async function rivalOf({ object, kind, claims }: ManagedObject): Promise<KubeObject | undefined> {
  const rival = claims.rivalOf(object);
  if (!rival) return undefined;
  const scope = await kind.external.scope(object.metadata.uid);
  return isCreatedIn(scope, claimIn(object)?.id) ? undefined : rival;
}

/** @throws Blocked when another object keeps this one from what it claims */
export async function mustHaveNoRival(managed: ManagedObject): Promise<void> {
  const rival = await rivalOf(managed);
  if (!rival) return;
  throw conflictWith(rival, managed.kind.name, claimIn(managed.object)?.id);
}

/**
 * The object to which this one, which is being deleted, leaves what it claims: its rival, and of modules whoever declares
 * some for the same owner. Between their being deleted and set again, a route would be open.
 * @throws Blocked while an object that is being deleted, too, may leave them to this one
 */
export async function leftTo(managed: ManagedObject): Promise<KubeObject | undefined> {
  const { object, kind, claims } = managed;
  if (!kind.isAttached) return rivalOf(managed);
  const id = claimIn(object)?.id;
  if (id === undefined) return undefined;
  let before: KubeObject | undefined;
  for (const other of claims.othersClaiming(id, object)) {
    // By a stale cache, two that are deleted at once would each leave the modules to the other.
    const newest = await managed.newestOf(other);
    if (!newest || claimIn(newest)?.id !== id) continue;
    if (!isDeleting(newest)) return newest;
    if (goesBefore(newest, object)) before = newest;
  }
  if (!before) return undefined;
  const { namespace, name } = before.metadata;
  const message = `the ${kind.name} ${namespace}/${name}, which has ${kind.nameOf(id)}, is being deleted, too; this object follows`;
  throw new Blocked(REASON.deletionBlocked, message);
}

/** @param kind of both objects */
export function conflictWith(rival: KubeObject, kind: string, id: string | undefined): Blocked {
  const other = `the ${kind} ${rival.metadata.namespace}/${rival.metadata.name}`;
  // One that has not got it yet may never do so: where that one is wrong, this one has nothing to correct.
  const message = claimIn(rival)?.isConfirmed
    ? `${id} is already managed by ${other}`
    : `${id} is claimed by ${other}, which is older but has not taken it over yet: see there, or delete that object`;
  return new Blocked(REASON.managementConflict, message);
}

/** Whether what is listed as superseded may be deleted for the object. */
export function mayRetire(managed: ManagedObject, id: string, scope: CreateScope): boolean {
  const { object, kind, claims } = managed;
  if (isCreatedIn(scope, id)) return true;
  // Where nothing may be adopted, the status alone can tell.
  if (!managed.mayAdopt && !knows(shownIdentity(object) ?? NOTHING, id)) return false;
  return kind.external.isId(id) && wasManaged(object, id) && !claims.isClaimedByAnother(id, object);
}

const NOTHING = { externalId: undefined, generation: 0, createKey: undefined, retiring: [] };

export function isCreatedIn({ resources }: CreateScope, id: string | undefined): boolean {
  return resources.some((resource) => resource.id === id);
}

/**
 * Whether anything but the list itself says that the object has managed the resource. Without a status, as after a restore,
 * nothing could: the list is then believed.
 */
function wasManaged(object: KubeObject, id: string): boolean {
  const shown = shownIdentity(object);
  if (!shown || knows(shown, id)) return true;
  return [readStatus(object).adopted, annotation(object, ANNOTATION.adopt)].includes(id);
}
