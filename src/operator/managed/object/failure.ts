/** Classifies a failed reconcile: what to tell the user, and whether a retry without a change can help. */
import { ApiError, ApiUnreachableError } from '../../../client/errors.ts';
import { type Manager, managerIn, nameOfManager } from '../../../resources/definition/manager.ts';
import { ANNOTATION } from '../../contract/names.ts';
import { REASON, type Reason } from '../../contract/reasons.ts';
import { KubeError, KubeUnreachableError } from '../../kube/kube-error.ts';
import { Blocked, Contradiction, StaleObject } from '../declaration/external.ts';
import { aboutMember, inSpecTerms, NO_TERMS, type SpecTerms } from '../declaration/spec-terms.ts';

export type Failure =
  /** Another client wrote first; retry with the newest version. The message is shown if retrying does not help. */
  | { kind: 'stale'; reason: Reason; message: string }
  /** Temporary; the object is no worse than before. */
  | { kind: 'transient'; reason: Reason; message: string; retryAfterMs?: number | undefined }
  /** Only a change of the spec, of permissions or of another object helps; still retried with backoff. */
  | { kind: 'terminal'; reason: Reason; message: string };

/** What helps when the API refuses a key for what its owner, or the key itself, may not do. */
function remedyOf({ details }: ApiError, { connection = 'the operator' }: SpecTerms): string {
  if (details.scope !== undefined) return `Give ${connection} an API key with this scope`;
  if (details.role !== undefined) return `Make the key's owner an editor, or give ${connection} another API key`;
  return `Make the key's owner one, or give ${connection} an API key of one`;
}

/** @param terms those of the object, for what the API says about it */
export function classify(error: unknown, terms: SpecTerms = NO_TERMS): Failure {
  if (error instanceof StaleObject) return stale(error, REASON.kubernetesError);
  if (error instanceof Blocked) return { kind: 'terminal', reason: error.reason, message: error.message };
  if (error instanceof Contradiction) {
    return transient(REASON.apiUnavailable, `The management API ${error.message}; retrying`);
  }
  if (error instanceof ApiError) return classifyApiError(error, terms);
  if (error instanceof ApiUnreachableError) {
    return transient(REASON.apiUnavailable, unreachable(error, terms), error.retryAfterMs);
  }
  if (error instanceof KubeError) return classifyKubeError(error);
  if (error instanceof KubeUnreachableError) {
    return transient(REASON.kubernetesError, 'The Kubernetes API does not respond; retrying');
  }
  return transient(REASON.internalError, 'Unexpected error; retrying. See the log of the operator');
}

function unreachable({ answer, connection }: ApiUnreachableError, terms: SpecTerms): string {
  const setting = terms.connection === undefined ? 'TUNNEL_API_URL' : `spec.url of ${terms.connection}`;
  if (answer !== undefined) {
    return `The URL of the management API (${setting}) answered ${answer}; is that the management API? Retrying`;
  }
  if (connection === undefined) return 'The management API does not respond; retrying';
  return `The management API (${setting}) cannot be reached: ${connection}; retrying`;
}

function classifyApiError(error: ApiError, terms: SpecTerms): Failure {
  if (error.transient) {
    const message =
      error.status === 429
        ? 'The management API is limiting requests; retrying'
        : `The management API is failing (${error.status === 503 ? `${error.code}: ${error.message}` : error.code}); retrying`;
    return transient(REASON.apiUnavailable, message, error.retryAfterMs);
  }
  // Another client wrote first, or an earlier write of ours arrived late.
  if (error.code === 'PRECONDITION_FAILED') return stale(error, REASON.rejected);
  const other = otherManager(error);
  if (other) return { kind: 'terminal', reason: REASON.managementConflict, message: managedBy(error, other) };
  const namesField = Object.keys(error.details).some((name) => name.startsWith('/'));
  if (error.code === 'UNAUTHENTICATED' || (error.code === 'PERMISSION_DENIED' && !namesField)) {
    const whose = terms.connection === undefined ? "the operator's API key" : `the API key of ${terms.connection}`;
    const denial = `The management API denies access to ${whose}: ${error.message}`;
    const message = error.code === 'PERMISSION_DENIED' ? `${denial} ${remedyOf(error, terms)}` : denial;
    return { kind: 'terminal', reason: REASON.accessDenied, message };
  }
  return { kind: 'terminal', reason: REASON.rejected, message: explain(error, terms) };
}

/** The other object that manages the resource, if that is why the API refused. */
export function otherManager(error: unknown): Manager | undefined {
  return error instanceof ApiError && error.code === 'CONFLICT' ? managerIn(error.details) : undefined;
}

function managedBy({ details }: ApiError, other: Manager): string {
  const remedies = [
    `delete this object, which leaves ${details.resource_id} alone`,
    'set deletionPolicy of that one to Retain and delete it',
    `or, to take ${details.resource_id} over, set the annotation ${ANNOTATION.takeOver} of this object to ${other.id}`,
  ];
  return `${details.resource_id} is managed by ${nameOfManager(other)}: ${remedies.join('; ')}`;
}

function classifyKubeError(error: KubeError): Failure {
  // With its namespace, the object is about to be deleted.
  if (error.isConflict || error.isNotFound || error.isNamespaceTerminating) return stale(error, REASON.kubernetesError);
  // A 401 is temporary while a token is being replaced and while the API server starts.
  if (error.code === 401 || error.code === 429 || error.code >= 500) {
    // A webhook that is down, for example, is the user's to mend.
    const cause = error.code >= 500 ? `: ${repeatable(error.message)}` : '';
    return transient(REASON.kubernetesError, `The Kubernetes API is failing${cause}; retrying`, error.retryAfterMs);
  }
  return { kind: 'terminal', reason: REASON.kubernetesError, message: error.message };
}

/** Without the port of a connection, which differs each time: the same failure must not be written again. */
function repeatable(message: string): string {
  return message.replaceAll(/(?<=\b(?:read|write) \w+ )\S+:\d+->/g, '');
}

function stale({ message }: Error, reason: Reason): Failure {
  return { kind: 'stale', reason, message };
}

function transient(reason: Reason, message: string, retryAfterMs?: number) {
  return { kind: 'transient' as const, reason, message, retryAfterMs };
}

/** An API error in terms of the custom resource: no request ids, which change every time. */
export function explain(error: ApiError, terms: SpecTerms = NO_TERMS): string {
  const fields = Object.entries(error.details)
    .filter(([name]) => name.startsWith('/'))
    .map(([pointer, reason]) => aboutMember(pointer, reason, terms));
  return fields.length > 0 ? fields.join('; ') : inSpecTerms(error.message, terms);
}
