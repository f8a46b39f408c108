/** Taking over a resource that exists already, named by an annotation. */
import { ANNOTATION } from '../contract/names.ts';
import { EVENT_REASON, REASON } from '../contract/reasons.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { Blocked } from './external.ts';
import { readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { rotationHandled } from './rotation.ts';

/** @throws Blocked when there is no resource with the id */
export async function ensureAdopted(managed: ManagedObject): Promise<void> {
  const id = idToAdopt(managed.object);
  if (id === undefined) return;
  if (!(await managed.kind.external.observe(id))) {
    throw new Blocked(REASON.externalNotFound, `${id}, named by the annotation ${ANNOTATION.adopt}, does not exist`);
  }
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
