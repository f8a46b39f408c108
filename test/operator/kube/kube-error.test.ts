import { expect, test } from 'vitest';
import { kubeErrorFrom } from '../../../src/operator/kube/kube-error.ts';

test.each([
  [
    'a Status',
    409,
    JSON.stringify({ code: 409, reason: 'AlreadyExists', message: 'it is there' }),
    { code: 409, reason: 'AlreadyExists', message: 'it is there' },
  ],
  ['an empty Status', 500, '{}', { code: 500, reason: 'Unknown', message: 'HTTP 500' }],
  [
    'the HTML of a proxy, without quoting it',
    502,
    '<html>',
    { code: 502, reason: 'Unknown', message: 'answered 502 with text/html (6 bytes); is that the Kubernetes API?' },
  ],
  ['no body', 503, '', { code: 503, message: 'answered 503 without a body; is that the Kubernetes API?' }],
])('an error is built from %s', (_, httpStatus, body, expected) => {
  const error = kubeErrorFrom(httpStatus, body, { 'retry-after': '7', 'content-type': 'text/html; charset=utf-8' });
  expect(error).toMatchObject({ ...expected, retryAfterMs: 7_000 });
});

test('a 403 for a namespace that is being deleted is not a missing permission', () => {
  const forbidden = (causes: object[]) =>
    kubeErrorFrom(403, JSON.stringify({ code: 403, reason: 'Forbidden', details: { causes } }), {});
  const terminating = forbidden([{ reason: 'NamespaceTerminating', message: 'x', field: 'metadata.namespace' }]);
  expect([terminating.isNamespaceTerminating, terminating.isForbidden]).toEqual([true, false]);
  expect([forbidden([]).isNamespaceTerminating, forbidden([]).isForbidden]).toEqual([false, true]);
});
