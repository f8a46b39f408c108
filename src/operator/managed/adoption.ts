/** Taking over a resource that exists already, named by an annotation. */
import { ANNOTATION } from '../contract/names.ts';
import { EVENT_REASON, REASON } from '../contract/reasons.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { Blocked } from './external.ts';
import { readIdentity } from './identity.ts';
import { mustBeChangeable } from './immutable.ts';
import type { ManagedObject } from './managed-object.ts';
import { rotationHandled } from './rotation.ts';
import type { ManagedSpec } from './spec.ts';

/** @throws Blocked when there is no resource with the id, or one that can never become what is declared */
export async function ensureAdopted(managed: ManagedObject, spec: ManagedSpec): Promise<void> {
  const id = idToAdopt(managed.object);
  if (id === undefined) return;
  const { external } = managed.kind;
  const remote = await external.observe(id);
  if (!remote) {
    throw new Blocked(REASON.externalNotFound, `${id}, named by the annotation ${ANNOTATION.adopt}, does not exist`);
  }
  // Before it is taken over: the way out is to delete the object, and what it does not own must survive that.
  mustBeChangeable(external, spec, remote);
  const identity = readIdentity(managed.object);
  await managed.persist({ ...identity, externalId: id }, rotationHandled(managed.object));
  managed.recordEvent('Normal', EVENT_REASON.adopted, `Took over ${id}`);
}

/** The id that the object is to take over; undefined without one, and once the object has or begins one of its own. */
export function idToAdopt(object: KubeObject): string | undefined {
  const { externalId, generation } = readIdentity(object);
  if (externalId !== undefined || generation > 0) return undefined;
  return annotation(object, ANNOTATION.adopt) || undefined;
}
