/** What an object must carry before anything is created for it: the finalizer and the create generation. */
import type { KubeObject } from '../kube/kube-object.ts';
import { type Identity, isBegun, nextGeneration, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { rotationHandled } from './rotation.ts';
import { hasFinalizer } from './spec.ts';

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
  if (!isBegun(identity)) return { identity: nextGeneration(identity), annotations: rotationHandled(object) };
  return hasFinalizer(object) ? undefined : { identity, annotations: {} };
}
