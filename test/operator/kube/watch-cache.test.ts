import { expect, test } from 'vitest';
import { slim } from '../../../src/operator/kube/watch-cache.ts';
import { object } from '../objects.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

test.each([
  [
    'nothing that a controller reads',
    object({ spec: { a: 1 } }, { adopt: 'x' }),
    object({ spec: { a: 1 } }, { adopt: 'x' }),
  ],
  ['the managed fields', object({ metadata: { managedFields: [{}] } }), object()],
  [
    'the copy that kubectl makes',
    object({ metadata: { annotations: { [LAST_APPLIED]: '{}', other: 'kept' } } }),
    object({ metadata: { annotations: { other: 'kept' } } }),
  ],
  [
    'nothing of an object without annotations',
    object({ metadata: { annotations: undefined } }),
    object({ metadata: { annotations: undefined } }),
  ],
])('the cache drops %s', (_, of, expected) => {
  expect(slim(of)).toEqual(expected);
});
