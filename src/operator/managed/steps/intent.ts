/** What an object must carry before anything is created for it: the finalizer and the create generation. */
import type { KubeObject } from '../../kube/kube-object.ts';
import { type Identity, isBegun, nextGeneration, readIdentity } from '../identity/identity.ts';
import { lacksFinalizer } from '../identity/recorded-status.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { rotationHandled } from '../secrets/rotation.ts';

export interface Intent {
  identity: Identity;
  annotations: Record<string, string>;
}

/** Writes the finalizer and the create generation in one patch, before anything is created. */
export async function ensureIntent(managed: ManagedObject): Promise<void> {
  const missing = missingIntent(managed.object);
  if (missing) await managed.persist(missing.identity, missing.annotations);
}

/** The part that is still to be written; undefined if the object already has it. */
export function missingIntent(object: KubeObject): Intent | undefined {
  const identity = readIdentity(object);
  return isBegun(identity) ? undefined : { identity: nextGeneration(identity), annotations: rotationHandled(object) };
}

/** Restores a removed finalizer if the object has a resource or a pending create, even if its spec is invalid. */
export async function ensureFinalizer(managed: ManagedObject): Promise<void> {
  const { object } = managed;
  if (lacksFinalizer(object)) await managed.persist(readIdentity(object));
}
