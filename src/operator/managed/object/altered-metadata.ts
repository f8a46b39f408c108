/** Finalizers and annotations that the cluster did not store as they were written. Pure. */
import { FINALIZER } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import { alteredMembers } from '../../kube/altered-members.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../declaration/external.ts';

/** A merge patch of the metadata of an object. */
export interface MetadataPatch {
  finalizers?: readonly string[];
  annotations?: Readonly<Record<string, string | null>>;
}

/**
 * An object without its finalizer would be deleted without its resource, and one without its identity would be given
 * another resource.
 * @throws Blocked naming the altered fields
 */
export function requireMetadataKept({ finalizers, annotations = {} }: MetadataPatch, { metadata }: KubeObject): void {
  const has = (names: readonly string[] = []) => names.includes(FINALIZER);
  const altered = [
    ...(finalizers === undefined || has(finalizers) === has(metadata.finalizers)
      ? []
      : [`metadata.finalizers[${FINALIZER}]`]),
    ...alteredMembers('metadata.annotations', annotations, metadata.annotations),
  ];
  if (altered.length === 0) return;
  const what = `${altered.join(', ')} of this object was not stored as written`;
  const remedy = 'exempt this kind from the mutating webhook or policy that changes it';
  throw new Blocked(REASON.kubernetesError, `${what}: ${remedy}`);
}
