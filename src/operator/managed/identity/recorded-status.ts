/** The status that every custom resource records, and questions about an object that follow from status and metadata. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { ANNOTATION, FINALIZER } from '../../contract/names.ts';
import { CONDITION, REASON } from '../../contract/reasons.ts';
import { condition, findCondition, toKubeTime } from '../../kube/conditions.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import {
  claimedId,
  type Identity,
  isBegun,
  isDated,
  namesNoResource,
  readIdentity,
  retiringEntry,
} from './identity.ts';

/** One Secret or ConfigMap that the spec refers to. */
export const usedSource = z.object({
  field: z.string().meta({ description: 'Path of the source in the spec.' }),
  kind: z.enum(['Secret', 'ConfigMap']).meta({ description: 'Kind of the source: Secret or ConfigMap.' }),
  name: z.string().meta({ description: 'Name of the Secret or ConfigMap.' }),
  resourceVersion: z
    .string()
    .meta({ description: 'The metadata.resourceVersion of the Secret or ConfigMap when it was read.' }),
  digest: z.string().meta({ description: 'Keyed digest of the text, which does not reveal it.' }),
});
export type UsedSource = z.output<typeof usedSource>;

/** One reference and the id that it was resolved to. */
export const usedReference = z.object({
  field: z.string().meta({ description: 'Path of the reference in the spec.' }),
  id: z.string().meta({ description: 'Id of the referenced resource in the management API.' }),
});
export type UsedReference = z.output<typeof usedReference>;

/** The inputs that a spec was resolved with. */
export interface UsedInputs {
  sources: UsedSource[];
  references: UsedReference[];
}

/** The ids that a status shows: its own (for modules, their owner's) and those of its references. */
export const usedIds = z.object({ id: z.string().optional(), references: z.array(usedReference).optional() });

export const managedStatus = z.looseObject({
  id: z.string().optional(),
  adopted: z.string().optional(),
  connection: z.string().optional(),
  ownerId: z.string().optional(),
  createGeneration: z.int().optional(),
  retiring: z.array(retiringEntry).optional(),
  observedGeneration: z.number().optional(),
  sources: z.array(usedSource).optional(),
  references: z.array(usedReference).optional(),
  expiresAt: z.string().optional(),
  issuedAt: z.string().optional(),
  lastHandledRotateAt: z.string().optional(),
  lastHandledReconcileAt: z.string().optional(),
  conditions: z.array(condition).optional(),
});

export type ManagedStatus = z.output<typeof managedStatus>;

/** Differs from every generation: tools based on kstatus take an object without observedGeneration for current. */
export const NOT_OBSERVED = -1;

/** What the CRDs give an object without a status, so that nobody takes it for ready before the operator has seen it. */
export const DEFAULT_STATUS = {
  observedGeneration: NOT_OBSERVED,
  conditions: [
    {
      type: CONDITION.ready,
      status: 'Unknown',
      reason: REASON.pending,
      message:
        'The operator has not seen this object yet: if this lasts, check that it runs and watches this namespace',
      lastTransitionTime: toKubeTime(new Date(0)),
    },
  ],
} satisfies ManagedStatus;

/** The default tells nothing of the object, and comes back whenever the status is lost. */
function isDefault({ observedGeneration, id, conditions = [] }: ManagedStatus): boolean {
  const isPending = conditions.every(({ type, reason }) => type === CONDITION.ready && reason === REASON.pending);
  return observedGeneration === NOT_OBSERVED && id === undefined && isPending;
}

/** By status object, which never changes: whether it counts. The gauges look at that of every object at each scrape. */
const validity = new WeakMap<object, boolean>();

function isRecorded(status: unknown): status is ManagedStatus {
  if (typeof status !== 'object' || status === null) return false;
  const known = validity.get(status);
  if (known !== undefined) return known;
  const { data } = managedStatus.safeParse(status);
  const isValid = data !== undefined && !isDefault(data);
  validity.set(status, isValid);
  return isValid;
}

/** Whether no reconcile has said anything about the object yet. */
export function isPending(object: KubeObject): boolean {
  return findCondition(readStatus(object).conditions ?? [], CONDITION.ready) === undefined;
}

/** The object's status; an invalid one, and the default of the CRD, count as empty. */
export function readStatus({ status }: KubeObject): ManagedStatus {
  return isRecorded(status) ? status : {};
}

/** The identity in the status, written by the last successful reconcile; undefined if there was none. */
export function shownIdentity(object: KubeObject): Identity | undefined {
  const { id, createGeneration, retiring = [] } = readStatus(object);
  if (id === undefined || createGeneration === undefined) return undefined;
  return { externalId: id, generation: createGeneration, createKey: undefined, retiring: retiring.filter(isDated) };
}

/**
 * Whether the identity in the annotations can be trusted. `lost`: only the status still has one. `differs`: the two
 * disagree, after a manual edit or a crash before the status was written.
 */
export function doubtAbout(object: KubeObject): 'none' | 'lost' | 'differs' {
  const recorded = readIdentity(object);
  const shown = shownIdentity(object);
  // If both are missing, the first create finds out: the API refuses its number if there were others.
  if (!isBegun(recorded)) return shown ? 'lost' : 'none';
  // A generation alone, without a status, counts as `differs`: it may be an edit that replaced all other annotations.
  return isDeepStrictEqual({ ...recorded, createKey: undefined }, shown) ? 'none' : 'differs';
}

/** The id in the annotation `adopt` if it came too late: the object already has another, unrelated resource. */
export function idNotAdopted(object: KubeObject): string | undefined {
  const { externalId, retiring } = readIdentity(object);
  const wanted = annotation(object, ANNOTATION.adopt) || undefined;
  if (externalId === undefined || wanted === undefined || wanted === externalId) return undefined;
  const wasAdopted = retiring.some(({ id, generation }) => id === wanted && generation === 0);
  return wasAdopted || readStatus(object).adopted === wanted ? undefined : wanted;
}

/** Any value other than `false` pauses, including `yes` and an empty one. */
export function isPaused(object: KubeObject): boolean {
  const value = annotation(object, ANNOTATION.paused);
  return value !== undefined && value.toLowerCase() !== 'false';
}

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

export function hasFinalizer(object: KubeObject): boolean {
  return object.metadata.finalizers?.includes(FINALIZER) ?? false;
}

/** Whether deleting the object now would orphan its resource, or one that is being created. */
export function lacksFinalizer(object: KubeObject): boolean {
  return isBegun(readIdentity(object)) && !hasFinalizer(object);
}

/** Deleted as far as this operator is concerned. Finalizers of others may keep the object indefinitely. */
export function isFinalized(object: KubeObject): boolean {
  return isDeleting(object) && !hasFinalizer(object);
}

/** Whether the last reconcile of this generation left everything in sync: any difference since is drift. */
export function wasInSync(status: ManagedStatus, object: KubeObject): boolean {
  const { generation } = object.metadata;
  const isTrue = (type: string) =>
    status.conditions?.some((c) => c.type === type && c.status === 'True' && c.observedGeneration === generation) ??
    false;
  return status.observedGeneration === generation && isTrue('Ready') && isTrue('Synced');
}

export function readyMessage(object: KubeObject): string {
  return findCondition(readStatus(object).conditions ?? [], CONDITION.ready)?.message ?? '';
}

/**
 * Whether no reconcile of the object has ever succeeded. Its resource may be incomplete, and no user knows it yet. False if
 * the object has merely lost its annotations or its status.
 */
export function isUnfinished(object: KubeObject): boolean {
  const { id } = readStatus(object);
  // Ready is Unknown while it is paused.
  return !isPending(object) && id === undefined && namesNoResource(object) && isBegun(readIdentity(object));
}

export function isReconcileRequested(object: KubeObject): boolean {
  return readStatus(object).lastHandledReconcileAt !== annotation(object, ANNOTATION.reconcileRequestedAt);
}

/** Whether this version of the object has been reconciled, so that a restart need not repeat it. */
export function looksSettled(object: KubeObject): boolean {
  const status = readStatus(object);
  const { externalId, generation } = readIdentity(object);
  // They differ after a crash between recording a new identity and writing the status.
  const recorded = generation > 0 ? externalId : claimedId(object);
  const ignored = idNotAdopted(object);
  return (
    (ignored === undefined || readyMessage(object).includes(ignored)) &&
    !isDeleting(object) &&
    !isPaused(object) &&
    !lacksFinalizer(object) &&
    status.id !== undefined &&
    status.id === recorded &&
    doubtAbout(object) === 'none' &&
    !isReconcileRequested(object) &&
    annotation(object, ANNOTATION.rotation) === undefined &&
    annotation(object, ANNOTATION.rotateRequestedAt) === annotation(object, ANNOTATION.rotateHandledAt) &&
    wasInSync(status, object)
  );
}
