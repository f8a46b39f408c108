/** What the conditions say when nothing has failed; failure.ts has the failures. */
import { ANNOTATION } from '../../contract/names.ts';
import { CONDITION, REASON, type Reason } from '../../contract/reasons.ts';
import { findCondition } from '../../kube/conditions.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { Finding, Remote } from '../declaration/external.ts';
import type { Handout } from '../declaration/handout.ts';
import { readIdentity } from '../identity/identity.ts';
import { idNotAdopted, readStatus } from '../identity/recorded-status.ts';

export const UP_TO_DATE: Finding = {
  status: 'True',
  reason: REASON.upToDate,
  message: 'The remote resource matches the spec',
};

export const RESOLVED: Finding = {
  status: 'True',
  reason: REASON.resolved,
  message: 'Every object, Secret and ConfigMap that the spec names is there',
};

/** What the object waits for may be applied after it, or is on its way: a GitOps tool must not give up yet. */
const MAY_COME: readonly Reason[] = [
  REASON.referenceNotFound,
  REASON.referenceNotReady,
  REASON.referenceDeleting,
  REASON.referenceNotPermitted,
  REASON.sourceNotFound,
  REASON.connectionNotFound,
  REASON.connectionNotReady,
  REASON.waitingForModules,
  REASON.deletionBlocked,
];

/** What kstatus reads besides Ready: whether to wait for an object that is not Ready, or to report that it has failed. */
export function progress(ready: Finding, isTransient = false) {
  const finding: Finding | undefined = ready.status === 'False' ? { ...ready, status: 'True' } : undefined;
  const endsByItself = isTransient || MAY_COME.includes(ready.reason);
  return {
    [CONDITION.reconciling]: endsByItself ? finding : undefined,
    [CONDITION.stalled]: endsByItself ? undefined : finding,
  };
}

/** Keeps a reported correction visible until the object changes, so that a steady state writes nothing. */
export function unchanged(object: KubeObject): Finding {
  const synced = findCondition(readStatus(object).conditions ?? [], CONDITION.synced);
  if (synced?.reason !== REASON.driftCorrected || synced.observedGeneration !== object.metadata.generation) {
    return UP_TO_DATE;
  }
  return synced.status === 'True' ? { ...synced, reason: REASON.driftCorrected } : UP_TO_DATE;
}

export function tokenUnavailable(id: string, { what }: Pick<Handout, 'what'>): Finding {
  const message = `The ${what} of the adopted ${id} cannot be read back. Set the annotation ${ANNOTATION.rotateRequestedAt} to a new value to get a new one; the old one stays valid for the overlap`;
  return { status: 'False', reason: REASON.tokenUnavailable, message };
}

/** For a token that was issued for the object, unlike one of an adopted resource. */
export function tokenLostAgain(id: string, { what }: Pick<Handout, 'what'>): Finding {
  const message = `The ${what} of ${id} was changed or deleted soon after it was issued: find out what else writes to its Secret. Another one is issued after a pause, which doubles each time`;
  return { status: 'False', reason: REASON.secretConflict, message };
}

/** What to say about an annotation `adopt` that came too late; undefined if there is none. */
export function adoptionIgnored(object: KubeObject): string | undefined {
  const id = idNotAdopted(object);
  if (id === undefined) return undefined;
  const { externalId } = readIdentity(object);
  return `the annotation ${ANNOTATION.adopt} has no effect, since this object has ${externalId}: remove it, and create another object with it to adopt ${id}`;
}

export function withNote(finding: Finding, note: string | undefined): Finding {
  return note === undefined ? finding : { ...finding, message: `${finding.message}; ${note}` };
}

export function available({ id }: Remote): Finding {
  return { status: 'True', reason: REASON.available, message: `${id} matches the spec` };
}

export function driftCorrected({ id }: Remote, fields: string): Finding {
  const message = `${id} differed from the spec in ${fields}; the change was reverted`;
  return { status: 'True', reason: REASON.driftCorrected, message };
}

/** For managementPolicy Observe: the resource exists. */
export function observedReady({ id }: Remote): Finding {
  return { status: 'True', reason: REASON.available, message: `${id} exists` };
}

/** For managementPolicy Observe: the spec fields in which the resource differs. */
export function observedSynced(changes: readonly string[]): Finding {
  const fields = specPaths(changes);
  const message = fields === '' ? 'Only observed' : `Only observed; differs in ${fields}`;
  return { status: 'True', reason: REASON.observed, message };
}

/** As in `spec.acl, spec.metadata`. */
export function specPaths(fields: readonly string[]): string {
  return fields.map((name) => `spec.${name}`).join(', ');
}
