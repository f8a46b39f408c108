import { expect, test } from 'vitest';
import { KubeError, KubeUnreachableError } from '../../../src/operator/kube/kube-error.ts';
import { leaseProblem } from '../../../src/operator/kube/lease-problem.ts';

test.each([
  [new KubeError(404, 'NotFound', 'any'), /^there is no namespace ns .*create it/],
  [
    new KubeError(403, 'Forbidden', 'any'),
    /in namespace ns; grant get, create and update on leases\.coordination\.k8s\.io$/,
  ],
  [new KubeError(409, 'Conflict', 'any'), undefined],
  [new KubeUnreachableError('any'), undefined],
])('what somebody has to do about %o', (error, expected) => {
  const problem = leaseProblem(error, 'ns');
  if (expected === undefined) expect(problem).toBeUndefined();
  else expect(problem).toMatch(expected);
});
