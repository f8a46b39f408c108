/** Storing what a new resource hands out, before its id is recorded. */
import { KubeError } from '../../kube/kube-error.ts';
import { Blocked, type Remote } from '../declaration/external.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { deleteVisible } from '../object/not-found.ts';

/**
 * If the cluster refuses the Secret, the resource is deleted again: a token that nobody can read should not be valid. The
 * next attempt then tries the Secret first.
 * @param generation under which the resource was created
 * @throws Blocked, KubeError when the Secret cannot be written
 */
export async function handOver(
  managed: ManagedObject,
  spec: ManagedSpec,
  remote: Remote,
  generation: number,
): Promise<'held' | 'lost'> {
  const { object, kind } = managed;
  if (!kind.delivery) return 'held';
  try {
    return await kind.delivery.deliver(managed, spec, remote);
  } catch (error) {
    // An earlier attempt may have stored it.
    const isUnheld = isRefusal(error) && !(await kind.delivery.stored(object)).includes(remote.id);
    if (isUnheld) await deleteVisible(managed, { id: remote.id, generation });
    throw error;
  }
}

/** Whether no repetition helps. In a namespace that is being deleted, the object goes as well. */
const isRefusal = (error: unknown) => error instanceof Blocked || (error instanceof KubeError && error.isForbidden);

/**
 * Ensures that the Secret can be written before a token is issued. A lost Secret may be the first sign that the object or its
 * namespace is being deleted.
 * @param isForGood whether the token cannot be taken back
 */
export async function requireDeliverable(managed: ManagedObject, spec: ManagedSpec, isForGood = false): Promise<void> {
  if (managed.isDeliverable) return;
  await managed.mustBeNewest();
  await managed.kind.delivery?.prepare(managed.object, spec, isForGood);
  managed.isDeliverable = true;
}
