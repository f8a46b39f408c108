/** Whether an object may manage the resource that it claims. docs/decisions/0012 has the rules. */
import { ANNOTATION } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import { Blocked, type CreateScope } from '../declaration/external.ts';
import { knows } from '../identity/identity.ts';
import { readStatus, shownIdentity } from '../identity/recorded-status.ts';
import { currentClaim, supersededIn } from '../knowledge/claims.ts';
import type { ConnectedKind } from './connected-kind.ts';
import type { ManagedObject } from './managed-object.ts';

/** The object that has precedence in managing what this one claims; undefined if there is none. */
export async function rivalOf({ object, kind, claims }: ManagedObject): Promise<KubeObject | undefined> {
  const rival = claims.rivalOf(object);
  if (!rival) return undefined;
  const scope = await kind.external.scope(object.metadata.uid);
  return isCreatedIn(scope, currentClaim(object)?.id) ? undefined : rival;
}

/** @throws Blocked when another object has precedence in managing what this one claims */
export async function requireNoRival(managed: ManagedObject): Promise<void> {
  const rival = await rivalOf(managed);
  if (!rival) return;
  throw conflictWith(rival, managed.kind.name, currentClaim(managed.object)?.id);
}

/** @param kind of both objects */
export function conflictWith(rival: KubeObject, kind: string, id: string | undefined): Blocked {
  const other = `the ${kind} ${rival.metadata.namespace}/${rival.metadata.name}`;
  return new Blocked(REASON.managementConflict, `${id} is ${howHeld(rival, other, id)}`);
}

function howHeld(rival: KubeObject, other: string, id: string | undefined): string {
  if (id !== undefined && supersededIn(rival).includes(id))
    return `superseded, but still managed by ${other}, until nothing refers to it and that object has deleted or released it: wait, or delete this object`;
  // The claim of the other object may be a mistake, so that it never takes the resource over.
  return currentClaim(rival)?.isConfirmed
    ? `already managed by ${other}: delete this object, or set deletionPolicy of that one to Retain and delete it`
    : `claimed by ${other}, which is older but has not taken it over yet: see there, or delete that object`;
}

/** Whether a resource that the object lists as superseded may be deleted. */
export function mayRetire(managed: ManagedObject, id: string, scope: CreateScope): boolean {
  const { object, kind, claims } = managed;
  if (isCreatedIn(scope, id)) return true;
  // Without adoption, annotations alone prove nothing.
  const shown = shownIdentity(object);
  if (!managed.mayAdopt && !(shown && knows(shown, id))) return false;
  return kind.external.isId(id) && wasManaged(managed, id) && !claims.rivalFor(id, object);
}

export function isCreatedIn({ resources }: CreateScope, id: string | undefined): boolean {
  return resources.some((resource) => resource.id === id);
}

interface Managing {
  object: KubeObject;
  kind: Pick<ConnectedKind, 'isAttached'>;
}

/**
 * Whether the object has managed the resource. The status says so, or the annotations do if there is no status, as after a
 * restore from a backup.
 */
export function wasManaged({ object, kind }: Managing, id: string): boolean {
  const shown = shownIdentity(object);
  if (shown && knows(shown, id)) return true;
  // The owner of modules is shown before any are set, so an object that shows only a failure has set none.
  if (kind.isAttached) return !shown && hasModulesOf(object, id);
  if (!shown) return true;
  return [readStatus(object).adopted, annotation(object, ANNOTATION.adopt)].includes(id);
}

/** Whether the status shows it, or is missing. The id alone is no proof, since an observing object shows an owner too. */
function hasModulesOf(object: KubeObject, id: string): boolean {
  const { conditions, retiring = [] } = readStatus(object);
  return conditions === undefined || retiring.some((entry) => entry.id === id);
}
