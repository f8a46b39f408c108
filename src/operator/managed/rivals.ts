/** Whether a resource is the object's own, or another object's that claims it. docs/decisions/0012 has the rules. */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { claimIn, supersededIn } from './claims.ts';
import type { ConnectedKind } from './connected-kind.ts';
import { Blocked, type CreateScope } from './external.ts';
import { knows } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { readStatus, shownIdentity } from './spec.ts';

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

/** @param kind of both objects */
export function conflictWith(rival: KubeObject, kind: string, id: string | undefined): Blocked {
  const other = `the ${kind} ${rival.metadata.namespace}/${rival.metadata.name}`;
  return new Blocked(REASON.managementConflict, `${id} is ${howHeld(rival, other, id)}`);
}

function howHeld(rival: KubeObject, other: string, id: string | undefined): string {
  if (id !== undefined && supersededIn(rival).includes(id))
    return `superseded, but still managed by ${other}, until nothing refers to it any more and that has deleted or left it: wait, or delete this object`;
  // One that has not got it yet may never do so: where that one is wrong, this one has nothing to correct.
  return claimIn(rival)?.isConfirmed
    ? `already managed by ${other}: delete this object, or set deletionPolicy of that one to Retain and delete it`
    : `claimed by ${other}, which is older but has not taken it over yet: see there, or delete that object`;
}

/** Whether what is listed as superseded may be deleted for the object. */
export function mayRetire(managed: ManagedObject, id: string, scope: CreateScope): boolean {
  const { object, kind, claims } = managed;
  if (isCreatedIn(scope, id)) return true;
  // Where nothing may be adopted, the status alone can tell.
  const shown = shownIdentity(object);
  if (!managed.mayAdopt && !(shown && knows(shown, id))) return false;
  if (!kind.external.isId(id) || !wasManaged(managed, id)) return false;
  // Modules stay on the list until they are handed over: else the status alone would claim them.
  return kind.isAttached || !claims.rivalFor(id, object);
}

export function isCreatedIn({ resources }: CreateScope, id: string | undefined): boolean {
  return resources.some((resource) => resource.id === id);
}

interface Managing {
  object: KubeObject;
  kind: Pick<ConnectedKind, 'isAttached'>;
}

/**
 * Whether anything but the annotations themselves says that the object has managed the resource. Without a status, as after a
 * restore, nothing could: they are then believed.
 */
export function wasManaged({ object, kind }: Managing, id: string): boolean {
  const shown = shownIdentity(object);
  if (shown && knows(shown, id)) return true;
  // Of modules, the owner is shown before anything is set: one that shows only a failure has set nothing.
  if (kind.isAttached) return !shown && hasModulesOf(object, id);
  if (!shown) return true;
  return [readStatus(object).adopted, annotation(object, ANNOTATION.adopt)].includes(id);
}

/** Whether the status says so, or is not there. One that only observes shows an owner that it has no modules of. */
function hasModulesOf(object: KubeObject, id: string): boolean {
  const { conditions, retiring = [] } = readStatus(object);
  return conditions === undefined || retiring.some((entry) => entry.id === id);
}
