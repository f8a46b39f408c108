import { expect, test } from 'vitest';
import { KubeError, KubeUnreachableError } from '../../../src/operator/kube/kube-error.ts';
import { leaseProblem } from '../../../src/operator/kube/lease-problem.ts';

const GRANT = 'grant get, create and update on leases.coordination.k8s.io';

test.each([
  ['a namespace that does not exist', new KubeError(404, 'NotFound', 'any'), /^there is no namespace ns .*create it/],
  [
    'a missing permission',
    new KubeError(403, 'Forbidden', 'any'),
    `not allowed to keep the Lease in namespace ns; ${GRANT}`,
  ],
])('%s is for somebody to solve', (_, error, expected) => {
  expect(leaseProblem(error, 'ns')).toMatch(expected);
});

test.each([
  ['a race with others', new KubeError(409, 'Conflict', 'any')],
  ['a server in trouble', new KubeError(500, 'InternalError', 'any')],
  ['a server that cannot be reached', new KubeUnreachableError('any')],
])('%s may pass', (_, error) => {
  expect(leaseProblem(error, 'ns')).toBeUndefined();
});
