/** Writing the outcome of a reconcile to the object's status. */
import { ANNOTATION } from '../../contract/names.ts';
import { CONDITION, EVENT_REASON, REASON, type Reason } from '../../contract/reasons.ts';
import { findCondition } from '../../kube/conditions.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import type { Finding, Remote } from '../declaration/external.ts';
import { UNRESOLVED_REASONS } from '../declaration/input.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { identityInStatus, readIdentity } from '../identity/identity.ts';
import { readStatus, readyMessage } from '../identity/recorded-status.ts';
import { columnTexts } from './column-texts.ts';
import { adoptionIgnored, progress, RESOLVED, withNote } from './findings.ts';
import type { ManagedObject, Outcome } from './managed-object.ts';
import { connectionFinding } from './object-connections.ts';

export interface CurrentState {
  remote: Remote;
  ready: Finding;
  synced: Finding;
  /** When the token is to be replaced. */
  renewAt?: Date | undefined;
}

export interface ShownFailure {
  reason: Reason;
  message: string;
  /** For transient failures, which say nothing about the resource itself: an object that was Ready stays Ready. */
  keepReady: boolean;
}

export async function writeStatus(
  managed: ManagedObject,
  spec: ManagedSpec,
  { remote, ready, synced }: CurrentState,
): Promise<void> {
  const { object, kind } = managed;
  const identity = readIdentity(object);
  const note = adoptionIgnored(object);
  const isNews = note !== undefined && !readyMessage(object).includes(note);
  const remarks = ready.status === 'True' ? (kind.declared.readyRemarks?.(remote) ?? []) : [];
  const dnsPublished = await managed.publishDnsRecords(spec, remote);
  const shown = [...remarks, note].reduce(withNote, ready);
  await managed.writeStatus(
    {
      [CONDITION.ready]: shown,
      [CONDITION.synced]: synced,
      ...progress(shown),
      ...whenResolved(managed.inputs !== undefined),
      ...kind.declared.conditions?.(spec, remote, kind.now()),
      [CONDITION.connectionResolved]: connectionFinding(managed.connection),
      [CONDITION.dnsPublished]: dnsPublished,
    },
    {
      id: remote.id,
      uri: remote.uri,
      ...(annotation(object, ANNOTATION.adopt) === identity.externalId && { adopted: identity.externalId }),
      ...identityInStatus(identity, kind.isAttached ? remote.id : undefined),
      sources: someOf(managed.inputs?.sources),
      references: someOf(managed.inputs?.references),
      lastHandledRotateAt: annotation(object, ANNOTATION.rotateHandledAt),
      ...kind.describe(spec, remote, object),
      observedGeneration: object.metadata.generation,
    },
  );
  if (isNews) managed.recordEvent('Warning', EVENT_REASON.adoptionIgnored, note);
  for (const { type, reason, message } of kind.declared.news?.(remote, readStatus(object)) ?? [])
    managed.recordEvent(type, reason, message);
  if (ready.reason === REASON.rejected && !readyMessage(object).includes(ready.message)) {
    managed.recordEvent('Warning', REASON.rejected, ready.message);
  }
}

/** The condition is absent if the spec has no inputs. */
const whenResolved = (takesInputs: boolean) => ({ [CONDITION.referencesResolved]: takesInputs ? RESOLVED : undefined });

const someOf = <T>(list: readonly T[] = []) => (list.length > 0 ? list : undefined);

export async function showPaused(managed: ManagedObject): Promise<Outcome> {
  const superseded = readIdentity(managed.object).retiring.map(({ id }) => id);
  const kept = superseded.length === 0 ? '' : `; superseded, and not deleted while paused: ${superseded.join(', ')}`;
  const message = `Reconciliation is paused by the annotation ${ANNOTATION.paused}; remove it or set it to "false" to resume${kept}`;
  const ready: Finding = { status: 'Unknown', reason: REASON.paused, message };
  const synced: Finding = { status: 'False', reason: REASON.paused, message };
  await managed.writeStatus({ [CONDITION.ready]: ready, [CONDITION.synced]: synced, ...progress(ready) });
  return managed.outcome();
}

/**
 * Shows a failure in the conditions and, if they changed, in a Kubernetes Event; returns the object as written.
 */
export async function showFailure(managed: ManagedObject, failure: ShownFailure): Promise<KubeObject> {
  const { object } = managed;
  const about = failure.keepReady ? {} : { observedGeneration: object.metadata.generation };
  const { tookInputs } = managed;
  const resolved = tookInputs === undefined ? {} : whenResolved(tookInputs);
  const columns = columnTexts(managed.kind.declared.printerColumns, object, readStatus(object));
  const connected = { [CONDITION.connectionResolved]: connectionFinding(managed.connection) };
  const findings = { ...resolved, ...connected, ...failureFindings(object, failure) };
  await managed.writeStatus(findings, { ...columns, ...about });
  const isNews = managed.object !== object;
  if (isNews) managed.recordEvent('Warning', failure.reason, failure.message);
  return managed.object;
}

/** What the conditions say about the failure. */
export function failureFindings(object: KubeObject, failure: ShownFailure): Record<string, Finding | undefined> {
  const { reason, message } = failure;
  const finding = withNote({ status: 'False', reason, message }, adoptionIgnored(object));
  const wasReady = findCondition(readStatus(object).conditions ?? [], CONDITION.ready)?.status === 'True';
  if (failure.keepReady && wasReady) return { [CONDITION.synced]: finding };
  const also = conditionAbout(reason);
  return {
    [CONDITION.ready]: finding,
    [CONDITION.synced]: finding,
    ...progress(finding, failure.keepReady),
    ...(also && { [also]: finding }),
  };
}

/** The condition besides Ready and Synced that shows a failure. */
function conditionAbout(reason: Reason): string | undefined {
  if (UNRESOLVED_REASONS.includes(reason)) return CONDITION.referencesResolved;
  if (reason === REASON.connectionNotFound || reason === REASON.connectionNotReady) return CONDITION.connectionResolved;
  return reason === REASON.nameMismatch ? CONDITION.certificateReady : undefined;
}
