/**
 * What a 404 means. The API also answers 404 for what the owner of the operator's key may not see: of some families, only
 * admins see what belongs to others. Taken for gone, such a resource would be created a second time or left behind.
 */
import { ANNOTATION } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import { Blocked, Contradiction, type Remote, type Sight } from '../declaration/external.ts';
import { readStatus } from '../identity/recorded-status.ts';
import type { ManagedObject } from './managed-object.ts';

export interface Sought {
  id: string;
  /** The create generation it was created under; 0 if it was adopted. */
  generation: number;
}

/** The resource, or undefined if it does not exist. @throws Blocked if it may merely be hidden */
export async function observeVisible(managed: ManagedObject, sought: Sought): Promise<Remote | undefined> {
  const remote = await managed.kind.external.observe(sought.id);
  if (!remote) await requireAbsence(managed, sought);
  return remote;
}

/** Ensures that the resource does not exist. @throws Blocked if it may merely be hidden */
export async function deleteVisible(managed: ManagedObject, sought: Sought): Promise<void> {
  const { kind, manager } = managed;
  const outcome = await kind.external.delete(sought.id, { manager });
  if (outcome === 'not found') await requireAbsence(managed, sought);
}

async function requireAbsence({ object, kind }: ManagedObject, sought: Sought): Promise<void> {
  // The scope names everything that was created for the object, visible or not.
  const { resources } = await kind.external.scope(object.metadata.uid);
  const exists = resources.some(({ id }) => id === sought.id);
  const sight = await kind.external.sight();
  if (sight === 'everything') {
    if (exists) throw new Contradiction(`says both that ${sought.id} exists and that it does not`);
    return;
  }
  if (!exists && ownerOf(object, sought, sight) === sight.ownerId) return;
  throw new Blocked(REASON.accessDenied, hiddenMessage(object, sought.id, exists, sight));
}

/** The owner of the resource as far as it is known; undefined if it is not. */
function ownerOf(object: KubeObject, { id, generation }: Sought, sight: Sight): string | undefined {
  const shown = readStatus(object);
  if (shown.id === id && shown.ownerId !== undefined) return shown.ownerId;
  return generation > 0 ? sight.ownerId : undefined;
}

function hiddenMessage(object: KubeObject, id: string, exists: boolean, { ownerId, mayBeAdmin }: Sight): string {
  const what = exists ? `${id} exists, but` : `${id} does not exist, or`;
  const isNamed = annotation(object, ANNOTATION.adopt) === id && !exists;
  const remedies = [
    mayBeAdmin ? `make ${ownerId} an admin` : "give the operator an admin's API key",
    ...(isNamed ? [`correct the annotation ${ANNOTATION.adopt}`] : []),
  ];
  return `${what} is hidden from the operator's API key, because its owner ${ownerId} is not an admin: ${remedies.join(', or ')}`;
}
