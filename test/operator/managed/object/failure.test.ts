import { describe, expect, test } from 'vitest';
import { ApiError, ApiUnreachableError } from '../../../../src/client/errors.ts';
import { KubeError, KubeUnreachableError } from '../../../../src/operator/kube/kube-error.ts';
import { Blocked, Contradiction, StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { classify, explain } from '../../../../src/operator/managed/object/failure.ts';
import { ERROR_STATUS, type ErrorCode } from '../../../../src/resources/definition/errors.ts';

const apiError = (error_code: ErrorCode, details: Record<string, string> = {}, retryAfterMs?: number) =>
  new ApiError(
    { error_code, status_code: ERROR_STATUS[error_code], msg: `msg of ${error_code}`, details },
    retryAfterMs,
  );

test.each([
  [
    'names every field',
    apiError('INVALID_REQUEST', { '/acl/0': 'no', '/owner_id': 'does not exist', request_id: 'r1' }),
    'spec.acl[0]: no; spec.ownerId: does not exist',
  ],
  ['says what the API says when no field is named', apiError('CONFLICT', { request_id: 'r1' }), 'msg of CONFLICT'],
])('an explanation %s', (_, error, expected) => {
  expect(explain(error)).toBe(expected);
});

describe('a failure', () => {
  test.each([
    ['StaleObject', new StaleObject('x'), { kind: 'stale', reason: 'KubernetesError', message: 'x' }],
    [
      'a contradiction',
      new Contradiction('says x and not x'),
      { kind: 'transient', reason: 'ApiUnavailable', message: 'The management API says x and not x; retrying' },
    ],
    ['a conflict in Kubernetes', new KubeError(409, 'Conflict', 'x'), { kind: 'stale', message: 'x' }],
    ['an object that is gone', new KubeError(404, 'NotFound', 'x'), { kind: 'stale' }],
    [
      'a resource that has changed since it was observed',
      apiError('PRECONDITION_FAILED'),
      { kind: 'stale', reason: 'Rejected', message: 'msg of PRECONDITION_FAILED' },
    ],
    [
      'Blocked',
      new Blocked('SecretConflict', 'taken'),
      { kind: 'terminal', reason: 'SecretConflict', message: 'taken' },
    ],
    [
      'a refused field',
      apiError('INVALID_REQUEST', { '/acl/0': 'no' }),
      { kind: 'terminal', reason: 'Rejected', message: 'spec.acl[0]: no' },
    ],
    ['a key that is not accepted', apiError('UNAUTHENTICATED'), { kind: 'terminal', reason: 'AccessDenied' }],
    ['a key that may not', apiError('PERMISSION_DENIED'), { kind: 'terminal', reason: 'AccessDenied' }],
    [
      'a field that the key may not set',
      apiError('PERMISSION_DENIED', { '/owner_id': 'only admins may' }),
      { kind: 'terminal', reason: 'Rejected', message: 'spec.ownerId: only admins may' },
    ],
    [
      'too many requests',
      apiError('RATE_LIMITED', {}, 7_000),
      {
        kind: 'transient',
        reason: 'ApiUnavailable',
        message: 'The management API is limiting requests; retrying',
        retryAfterMs: 7_000,
      },
    ],
    [
      'an API in trouble',
      apiError('UNAVAILABLE'),
      {
        kind: 'transient',
        reason: 'ApiUnavailable',
        message: 'The management API is failing (UNAVAILABLE: msg of UNAVAILABLE); retrying',
      },
    ],
    [
      'a bug in the API',
      apiError('INTERNAL_ERROR'),
      {
        kind: 'transient',
        reason: 'ApiUnavailable',
        message: 'The management API is failing (INTERNAL_ERROR); retrying',
      },
    ],
    [
      'no answer',
      new ApiUnreachableError('x', { retryAfterMs: 3 }),
      {
        kind: 'transient',
        reason: 'ApiUnavailable',
        message: 'The management API does not respond; retrying',
        retryAfterMs: 3,
      },
    ],
    [
      'the answer of something else',
      new ApiUnreachableError('x', { answer: '502 with text/html', status: 502 }),
      {
        kind: 'transient',
        reason: 'ApiUnavailable',
        message: 'The URL of the management API answered 502 with text/html; is that the management API? Retrying',
      },
    ],
    [
      'Kubernetes in trouble',
      new KubeError(500, 'x', 'x', 9),
      { kind: 'transient', reason: 'KubernetesError', retryAfterMs: 9 },
    ],
    ['a token that is being replaced', new KubeError(401, 'x', 'x'), { kind: 'transient', reason: 'KubernetesError' }],
    ['Kubernetes asking for patience', new KubeError(429, 'x', 'x'), { kind: 'transient', reason: 'KubernetesError' }],
    [
      'no permission in Kubernetes',
      new KubeError(403, 'Forbidden', 'may not'),
      { kind: 'terminal', reason: 'KubernetesError', message: 'may not' },
    ],
    [
      'a namespace that is being deleted',
      new KubeError(403, 'Forbidden', 'x', undefined, ['NamespaceTerminating']),
      { kind: 'stale' },
    ],
    ['no answer from Kubernetes', new KubeUnreachableError('x'), { kind: 'transient', reason: 'KubernetesError' }],
    ['anything else', new TypeError('x'), { kind: 'transient', reason: 'InternalError' }],
    ['not even an error', 'x', { kind: 'transient', reason: 'InternalError' }],
  ])('by %s', (_, error, expected) => {
    expect(classify(error)).toMatchObject(expected);
  });

  test('never contains what may differ between attempts', () => {
    const message = (error: unknown) => (classify(error) as { message: string }).message;
    const first = apiError('INVALID_REQUEST', { '/acl/0': 'no', request_id: 'first' });
    const second = apiError('INVALID_REQUEST', { '/acl/0': 'no', request_id: 'second' });
    expect(message(first)).toBe(message(second));
    expect(message(new ApiUnreachableError('connect ECONNREFUSED 10.0.0.1:8080'))).not.toContain('10.0.0.1');
  });
});
