/** The part of a Kubernetes object that a controller reads, validated where it enters the process. */
import { z } from 'zod';

export const ownerReference = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});

export const objectMeta = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string(),
  resourceVersion: z.string(),
  generation: z.number().optional(),
  creationTimestamp: z.string(),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  ownerReferences: z.array(ownerReference).optional(),
});

export const kubeObject = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  metadata: objectMeta,
});

/** The annotation in which `kubectl apply` keeps the file that it has applied. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export type KubeObject = z.output<typeof kubeObject>;
export type OwnerReference = z.output<typeof ownerReference>;

/** `namespace/name`, the identity of an object in a cache and a queue. */
export function keyOf(object: { metadata: { name: string; namespace?: string | undefined } }): string {
  return object.metadata.namespace ? `${object.metadata.namespace}/${object.metadata.name}` : object.metadata.name;
}

/**
 * Whether resource version `a` is newer than `b`. Versions of one resource are ordered as numbers (guaranteed since
 * Kubernetes 1.35, and true of every etcd-backed server before). A version that is not a number counts as newer: that
 * costs needless work at worst, not missed watch events.
 */
export function isNewer(a: string, b: string): boolean {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return a !== b;
  return a.length === b.length ? a > b : a.length > b.length;
}

export function annotation(object: KubeObject, name: string): string | undefined {
  return object.metadata.annotations?.[name];
}
