/**
 * In whose name the operator changes a resource: that of an object, which the API records as the manager. A copy of the
 * object, in another namespace or cluster, is another manager. Pure.
 */
import type { Manager } from '../../../resources/definition/manager.ts';
import { ANNOTATION } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import { findCondition } from '../../kube/conditions.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import { readIdentity } from './identity.ts';
import { readStatus } from './recorded-status.ts';

/** The cluster that an operator works in. */
export interface Cluster {
  /** Differs from that of every other cluster. */
  readonly id: string;
  /** Clusters that no longer exist, whose resources are taken over. */
  readonly takesOverFrom: readonly string[];
}

/** @param kind of the object */
export function managerOf({ metadata }: KubeObject, kind: string, { id }: Pick<Cluster, 'id'>): Manager {
  const { uid, namespace = '', name } = metadata;
  return { id: `${id}/${uid}`, namespace, kind, name };
}

/** Whether the API has recorded this manager for the resource, according to the annotation. */
export const isClaimed = (object: KubeObject, { id }: Manager) => annotation(object, ANNOTATION.manager) === id;

/** Whether the object has a resource that the API may not know to be its own: it was upgraded, restored or copied. */
export function lacksClaim(object: KubeObject, manager: Manager): boolean {
  return readIdentity(object).externalId !== undefined && !isClaimed(object, manager);
}

/** Whether another manager was recorded when the object was last reconciled, or is to lose the resource now. */
export function isContested(object: KubeObject): boolean {
  const ready = findCondition(readStatus(object).conditions ?? [], 'Ready');
  return ready?.reason === REASON.managementConflict || annotation(object, ANNOTATION.takeOver) !== undefined;
}
