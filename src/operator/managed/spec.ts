/** The part of every custom resource's spec and status that the reconcile loop itself reads. */
import { z } from 'zod';
import { ANNOTATION, FINALIZER } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { condition } from '../kube/conditions.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { Blocked } from './external.ts';
import { claimOf, type Identity, readIdentity, retiringEntry } from './identity.ts';

export const managedSpec = {
  deletionPolicy: z.enum(['Delete', 'Retain']).default('Delete').meta({
    description: 'Whether deleting this object deletes the remote resource (Delete) or leaves it (Retain).',
  }),
  managementPolicy: z.enum(['Manage', 'Observe']).default('Manage').meta({
    description:
      'Manage: the remote resource is made as declared. Observe: it is only read; name it with the annotation tunnel-operator.dev/adopt.',
  }),
};

const policies = z.object(managedSpec);

export interface ManagedSpec {
  deletionPolicy: 'Delete' | 'Retain';
  managementPolicy: 'Manage' | 'Observe';
}

export const managedStatus = z.looseObject({
  id: z.string().optional(),
  createGeneration: z.int().optional(),
  retiring: z.array(retiringEntry).optional(),
  observedGeneration: z.number().optional(),
  lastHandledReconcileAt: z.string().optional(),
  conditions: z.array(condition).optional(),
});

export type ManagedStatus = z.output<typeof managedStatus>;

/**
 * The spec in the operator's own terms. The API server has checked most of it; not what CEL cannot say, nor anything
 * that the CRD of another version of this operator allows.
 * @throws Blocked naming every field that does not fit
 */
export function readSpec<Spec>(schema: z.ZodType<Spec>, object: KubeObject): Spec {
  const parsed = schema.safeParse(object.spec ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${fieldPath(path)}: ${message}`);
  throw new Blocked(REASON.rejected, problems.join('; '));
}

function fieldPath(path: readonly PropertyKey[]): string {
  return `spec${path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')}`;
}

/** What must be known to let an object go, whatever else is in its spec. */
export function readPolicies(object: KubeObject): ManagedSpec {
  return readSpec(policies, object);
}

/** The status as the object carries it; one that does not parse counts as none. */
export function readStatus(object: KubeObject): ManagedStatus {
  return managedStatus.safeParse(object.status ?? {}).data ?? {};
}

/** The identity that the annotations have lost and the status still has; undefined when there is no such thing. */
export function lostIdentity(object: KubeObject): Identity | undefined {
  const { externalId, generation } = readIdentity(object);
  const { id, createGeneration, retiring = [] } = readStatus(object);
  if (externalId !== undefined || generation > 0 || id === undefined || createGeneration === undefined)
    return undefined;
  return { externalId: id, generation: createGeneration, retiring };
}

export function isPaused(object: KubeObject): boolean {
  return annotation(object, ANNOTATION.paused) === 'true';
}

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

export function hasFinalizer(object: KubeObject): boolean {
  return object.metadata.finalizers?.includes(FINALIZER) ?? false;
}

/** Whether the last reconcile of this very generation found or made everything right: what differs now is drift. */
export function wasInSync(status: ManagedStatus, object: KubeObject): boolean {
  const { generation } = object.metadata;
  const isTrue = (type: string) =>
    status.conditions?.some((c) => c.type === type && c.status === 'True' && c.observedGeneration === generation) ??
    false;
  return status.observedGeneration === generation && isTrue('Ready') && isTrue('Synced');
}

/** Whether the object was reconciled in its present form, so that a restart need not do it again. */
export function looksSettled(object: KubeObject): boolean {
  const status = readStatus(object);
  const { externalId, generation } = readIdentity(object);
  // After a crash between recording another resource (or that there is none) and the status, the two differ.
  const recorded = generation > 0 ? externalId : claimOf(object);
  return (
    !isDeleting(object) &&
    !isPaused(object) &&
    status.id !== undefined &&
    status.id === recorded &&
    status.lastHandledReconcileAt === annotation(object, ANNOTATION.reconcileRequestedAt) &&
    annotation(object, ANNOTATION.rotateRequestedAt) === annotation(object, ANNOTATION.rotateHandledAt) &&
    wasInSync(status, object)
  );
}
