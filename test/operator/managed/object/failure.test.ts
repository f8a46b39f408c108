import { expect, test } from 'vitest';
import { ApiError, ApiUnreachableError } from '../../../../src/client/errors.ts';
import { KubeError, KubeUnreachableError } from '../../../../src/operator/kube/kube-error.ts';
import { Blocked, Contradiction, StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { classify } from '../../../../src/operator/managed/object/failure.ts';
import { apiError } from '../things.ts';

const limited = new ApiError({ error_code: 'RATE_LIMITED', status_code: 429, msg: 'm', details: {} }, 7_000);
const terminating = new KubeError(403, 'Forbidden', 'x', undefined, ['NamespaceTerminating']);
const cut = new KubeError(500, 'x', 'read tcp 10.0.0.1:43122->10.0.0.5:443: reset');
const request = { request_id: 'r1' };
const twoFields = apiError('INVALID_REQUEST', { '/acl/0': 'no', '/owner_id': 'does not exist', ...request });
const ownerField = apiError('PERMISSION_DENIED', { '/owner_id': 'admins' });
const silent = new ApiUnreachableError('connect 10.0.0.1', { retryAfterMs: 3 });
const refused = new ApiUnreachableError('x', { connection: 'connection to a:1 refused' });
const foreign = new ApiUnreachableError('x', { answer: '502 with text/html', status: 502 });

test.each<[string, unknown, string, string?]>([
  ['a stale object', new StaleObject('x'), 'stale KubernetesError', 'x'],
  ['a conflict in Kubernetes', new KubeError(409, 'Conflict', 'x'), 'stale KubernetesError', 'x'],
  ['an object that is gone', new KubeError(404, 'NotFound', 'x'), 'stale KubernetesError'],
  ['a namespace that is being deleted', terminating, 'stale KubernetesError'],
  ['a resource that has changed', apiError('PRECONDITION_FAILED'), 'stale Rejected', 'msg of PRECONDITION_FAILED'],
  ['a block', new Blocked('SecretConflict', 'taken'), 'terminal SecretConflict', 'taken'],
  ['a refusal', apiError('CONFLICT', request), 'terminal Rejected', 'msg of CONFLICT'],
  ['refused fields', twoFields, 'terminal Rejected', 'spec.acl[0]: no; spec.ownerId: does not exist'],
  ['a wrong API key', apiError('UNAUTHENTICATED'), 'terminal AccessDenied'],
  ['a lack of rights', apiError('PERMISSION_DENIED'), 'terminal AccessDenied', 'give the operator an API key of one'],
  [
    'a lack of a scope',
    apiError('PERMISSION_DENIED', { scope: 'x:read' }),
    'terminal AccessDenied',
    'an API key with this scope',
  ],
  ['a viewer', apiError('PERMISSION_DENIED', { role: 'viewer' }), 'terminal AccessDenied', "the key's owner an editor"],
  ['a field that the key may not set', ownerField, 'terminal Rejected', 'spec.ownerId: admins'],
  ['a lack of rights in Kubernetes', new KubeError(403, 'Forbidden', 'may not'), 'terminal KubernetesError', 'may not'],
  ['a contradiction', new Contradiction('says x'), 'transient ApiUnavailable', 'The management API says x; retrying'],
  ['a rate limit', limited, 'transient ApiUnavailable 7000', 'The management API is limiting requests; retrying'],
  ['unavailability', apiError('UNAVAILABLE'), 'transient ApiUnavailable', '(UNAVAILABLE: msg of UNAVAILABLE)'],
  ['a bug in the API', apiError('INTERNAL_ERROR'), 'transient ApiUnavailable', 'is failing (INTERNAL_ERROR); retrying'],
  ['no response', silent, 'transient ApiUnavailable 3', 'The management API does not respond; retrying'],
  [
    'no connection',
    refused,
    'transient ApiUnavailable',
    '(TUNNEL_API_URL) cannot be reached: connection to a:1 refused;',
  ],
  ['a foreign response', foreign, 'transient ApiUnavailable', 'answered 502 with text/html; is that the man'],
  ['an error of Kubernetes', new KubeError(500, 'x', 'no webhook', 9), 'transient KubernetesError 9', ': no webhook; '],
  [
    'a cut connection of Kubernetes',
    cut,
    'transient KubernetesError',
    'failing: read tcp 10.0.0.5:443: reset; retrying',
  ],
  ['a token that is being replaced', new KubeError(401, 'x', 'x'), 'transient KubernetesError'],
  ['throttling by Kubernetes', new KubeError(429, 'x', 'x'), 'transient KubernetesError'],
  ['no response of Kubernetes', new KubeUnreachableError('x'), 'transient KubernetesError'],
  ['any other error', new TypeError('x'), 'transient InternalError'],
  ['a value that is not an error', 'x', 'transient InternalError'],
])('a failure is classified: %s', (_, error, expected, message) => {
  const failure: object = classify(error);
  const { kind, reason, retryAfterMs } = failure as Record<string, unknown>;
  expect([kind, reason, retryAfterMs].filter((part) => part !== undefined).join(' ')).toBe(expected);
  if (message !== undefined) expect(failure).toMatchObject({ message: expect.stringContaining(message) });
});
