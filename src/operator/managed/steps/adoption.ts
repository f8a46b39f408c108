/** Adopting an existing resource, which an annotation names. */
import { ANNOTATION } from '../../contract/names.ts';
import { EVENT_REASON, REASON } from '../../contract/reasons.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import { Blocked, requireChangeable } from '../declaration/external.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { isBegun, namesNoResource, readIdentity } from '../identity/identity.ts';
import { adoptedIdentity } from '../identity/recovered-identity.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { observeVisible } from '../object/not-found.ts';
import { requireNoRival } from '../object/rivals.ts';
import { rotationHandled } from '../secrets/rotation.ts';
import { claim, claimedBy } from './claim.ts';

const CORRECT_OR_REMOVE = 'correct the annotation, or remove it to have a new one created';

/**
 * @throws Blocked when the resource does not exist, or differs from the spec in an immutable field
 * @throws ApiError naming the manager, if another object manages it
 */
export async function ensureAdopted(managed: ManagedObject, spec: ManagedSpec): Promise<void> {
  const id = idToAdopt(managed.object);
  if (id === undefined) return;
  requireId(managed, id);
  const { external } = managed.kind;
  const remote = await observeVisible(managed, { id, generation: 0 });
  if (!remote) {
    // It may have been adopted earlier, and the object is creating its replacement.
    if (isBegun(readIdentity(managed.object))) return;
    const message = `${id}, named by the annotation ${ANNOTATION.adopt}, does not exist: ${CORRECT_OR_REMOVE}`;
    throw new Blocked(REASON.externalNotFound, message);
  }
  // Checked before adopting: the remedy is to delete the object, which must not delete a resource that it does not own.
  requireChangeable(external, spec, remote);
  await managed.mustBeNewest();
  // An object that looks new may have lost its annotations and status.
  const scope = await external.closeScope(managed.object.metadata.uid);
  // Again: another object of the same manifest may have come meanwhile.
  await requireNoRival(managed);
  await claim(managed, id);
  const annotations = { ...rotationHandled(managed.object), ...claimedBy(managed.manager) };
  await managed.persist(adoptedIdentity(id, scope, managed.kind.now()), annotations);
  managed.recordEvent('Normal', EVENT_REASON.adopted, `Adopted ${id}`);
}

/** @throws Blocked when no resource of the kind can have the id that the annotation names */
export function requireId({ kind }: ManagedObject, id: string): void {
  if (kind.external.isId(id)) return;
  const what = `is not an id for the kind ${kind.name} (${kind.external.idPrefix}…)`;
  throw new Blocked(
    REASON.externalNotFound,
    `${id}, named by the annotation ${ANNOTATION.adopt}, ${what}: ${CORRECT_OR_REMOVE}`,
  );
}

/** The id that the object is to adopt; undefined without one, and once the object has a resource. */
export function idToAdopt(object: KubeObject): string | undefined {
  return namesNoResource(object) ? annotation(object, ANNOTATION.adopt) || undefined : undefined;
}
