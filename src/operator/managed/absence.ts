/**
 * Whether something is gone. The API says so, too, of what the operator's API key may not see: of some families, whoever is
 * no admin is shown only what is theirs. Taken for gone, such a resource would be created again or left behind.
 */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { Blocked, Contradiction, type Remote, type Sight } from './external.ts';
import type { ManagedObject } from './managed-object.ts';
import { readStatus } from './spec.ts';

export interface Sought {
  id: string;
  /** The create generation it was created under; 0 if it was adopted. */
  generation: number;
}

/** The resource, or undefined if it is gone for sure. @throws Blocked when that cannot be told */
export async function observeSurely(managed: ManagedObject, sought: Sought): Promise<Remote | undefined> {
  const remote = await managed.kind.external.observe(sought.id);
  if (!remote) await mustBeGone(managed, sought);
  return remote;
}

/** Deletes the resource, which is then gone for sure. @throws Blocked when that cannot be told */
export async function deleteSurely(managed: ManagedObject, sought: Sought): Promise<void> {
  const outcome = await managed.kind.external.delete(sought.id);
  if (outcome === 'not found') await mustBeGone(managed, sought);
}

async function mustBeGone({ object, kind }: ManagedObject, sought: Sought): Promise<void> {
  // The scope has everything that was created for the object, also what its creator may not see any more.
  const { resources } = await kind.external.scope(object.metadata.uid);
  const exists = resources.some(({ id }) => id === sought.id);
  const sight = await kind.external.sight();
  if (sight === 'everything') {
    if (exists) throw new Contradiction(`says both that ${sought.id} exists and that it does not`);
    return;
  }
  if (!exists && believedOwner(object, sought, sight, kind.ownerNamedBy(object)) === sight.ownerId) return;
  throw new Blocked(REASON.accessDenied, invisible(object, sought.id, exists, sight));
}

/**
 * Undefined if there is nothing to go by.
 * @param named the owner that the spec names, if it names one
 */
export function believedOwner(
  object: KubeObject,
  { id, generation }: Sought,
  sight: Sight,
  named: { id: string | undefined } | undefined,
): string | undefined {
  const shown = readStatus(object);
  if (shown.id === id && shown.ownerId !== undefined) return shown.ownerId;
  if (named) return named.id;
  return generation > 0 ? sight.ownerId : undefined;
}

function invisible(object: KubeObject, id: string, exists: boolean, { ownerId, mayBeAdmin }: Sight): string {
  const what = exists ? `${id} exists, but` : `${id} does not exist, or`;
  const isNamed = annotation(object, ANNOTATION.adopt) === id && !exists;
  const remedies = [
    mayBeAdmin ? `make ${ownerId} an admin` : "give the operator an admin's API key",
    ...(isNamed ? [`correct the annotation ${ANNOTATION.adopt}`] : []),
  ];
  return `${what} is hidden from the operator's API key, since ${ownerId}, whose key it is, is no admin: ${remedies.join(', or ')}`;
}
