/** What an object must carry before anything is made for it: the finalizer, and the generation of the create to come. */
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

/** Finalizer and create generation, in one write, before anything exists to be lost. */
export async function ensureIntent(managed: ManagedObject): Promise<void> {
  const missing = missingIntent(managed.object);
  if (missing) await managed.persist(missing.identity, missing.annotations);
}

/** What is to be written; undefined when the object carries it already. */
export function missingIntent(object: KubeObject): Intent | undefined {
  const identity = readIdentity(object);
  const isBegun = identity.externalId !== undefined || identity.generation > 0;
  if (!isBegun) return { identity: nextGeneration(identity), annotations: rotationHandled(object) };
  return hasFinalizer(object) ? undefined : { identity, annotations: {} };
}

/** Puts back an identity that the annotations have lost and the status still has. */
export async function restoreIdentity(managed: ManagedObject): Promise<void> {
  const lost = identityToRestore(managed.object);
  if (!lost) return;
  // The status may be one step behind: what was begun after it is superseded, and nothing more can come of it.
  const late = await closeKey(managed, lost.generation + 1);
  await managed.persist(restoredIdentity(lost, late, new Date()), rotationHandled(managed.object));
}

export function identityToRestore(object: KubeObject): Identity | undefined {
  // An object that is being deleted takes no finalizer any more: without one, it is not ours to hold.
  return isDeleting(object) && !hasFinalizer(object) ? undefined : lostIdentity(object);
}

/** @param late what was created in the generation after the lost one, if it exists: it goes at once */
export function restoredIdentity(lost: Identity, late: string | undefined, now: Date): Identity {
  if (late === undefined) return lost;
  const entry = { id: late, generation: lost.generation + 1, after: now.toISOString() };
  return { ...lost, retiring: [...lost.retiring, entry] };
}
