/** What the conditions of an object say when nothing has failed; failures are in failure.ts. */
import { ANNOTATION } from '../contract/names.ts';
import { CONDITION, REASON } from '../contract/reasons.ts';
import { type Finding, findCondition } from '../kube/conditions.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { Remote } from './external.ts';
import { readStatus } from './spec.ts';

export const UP_TO_DATE: Finding = {
  status: 'True',
  reason: REASON.upToDate,
  message: 'The API agrees with what is declared',
};

/** A correction stays visible until the object changes, so that a steady state writes nothing. */
export function unchanged(object: KubeObject): Finding {
  const synced = findCondition(readStatus(object).conditions ?? [], CONDITION.synced);
  const isKept = synced?.reason === REASON.driftCorrected && synced.observedGeneration === object.metadata.generation;
  return isKept && synced.status === 'True' ? synced : UP_TO_DATE;
}

export function tokenUnavailable(id: string): Finding {
  const message = `The token of the adopted ${id} cannot be read again. Set the annotation ${ANNOTATION.rotateRequestedAt} to have a new credential made; the old one stays valid for the overlap`;
  return { status: 'False', reason: REASON.tokenUnavailable, message };
}

export function available({ id }: Remote): Finding {
  return { status: 'True', reason: REASON.available, message: `${id} is as declared` };
}

export function driftCorrected({ id }: Remote, fields: string): Finding {
  const message = `${id} differed from what is declared in ${fields}; it was set back`;
  return { status: 'True', reason: REASON.driftCorrected, message };
}

/** Of managementPolicy Observe: that it exists. */
export function observedReady({ id }: Remote): Finding {
  return { status: 'True', reason: REASON.available, message: `${id} exists` };
}

/** Of managementPolicy Observe: the spec fields in which it differs. */
export function observedSynced(changes: readonly string[]): Finding {
  const fields = specPaths(changes);
  const message = fields === '' ? 'Only observed' : `Only observed; differs in ${fields}`;
  return { status: 'True', reason: REASON.observed, message };
}

/** `spec.acl, spec.metadata` */
export function specPaths(fields: readonly string[]): string {
  return fields.map((name) => `spec.${name}`).join(', ');
}
