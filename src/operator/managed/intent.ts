/** What an object must carry before anything is created for it: the finalizer and the create generation. */
import type { KubeObject } from '../kube/kube-object.ts';
import { closeKey } from './disposal.ts';
import { type Identity, nextGeneration, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { rotationHandled } from './rotation.ts';
import { hasFinalizer, isDeleting, lostIdentity } from './spec.ts';

export interface Intent {
  identity: Identity;
  annotations: Record<string, string>;
}

/** Writes the finalizer and the create generation in one patch, before there is anything to lose. */
export async function ensureIntent(managed: ManagedObject): Promise<void> {
  const missing = missingIntent(managed.object);
  if (missing) await managed.persist(missing.identity, missing.annotations);
}

/** What has yet to be written; undefined if the object already carries it. */
export function missingIntent(object: KubeObject): Intent | undefined {
  const identity = readIdentity(object);
  const isBegun = identity.externalId !== undefined || identity.generation > 0;
  if (!isBegun) return { identity: nextGeneration(identity), annotations: rotationHandled(object) };
  return hasFinalizer(object) ? undefined : { identity, annotations: {} };
}

/** Restores an identity that the annotations have lost and the status still has. */
export async function restoreIdentity(managed: ManagedObject): Promise<void> {
  const lost = identityToRestore(managed.object);
  if (!lost) return;
  // The status may be one generation behind: close the next one too, and retire what was created in it.
  const late = await closeKey(managed, lost.generation + 1);
  await managed.persist(restoredIdentity(lost, late, new Date()), rotationHandled(managed.object));
}

export function identityToRestore(object: KubeObject): Identity | undefined {
  // Kubernetes accepts no new finalizer on an object that is being deleted.
  return isDeleting(object) && !hasFinalizer(object) ? undefined : lostIdentity(object);
}

/** @param late the resource created in the generation after the lost one, if any: it is retired at once */
export function restoredIdentity(lost: Identity, late: string | undefined, now: Date): Identity {
  if (late === undefined) return lost;
  const entry = { id: late, generation: lost.generation + 1, after: now.toISOString() };
  return { ...lost, retiring: [...lost.retiring, entry] };
}
