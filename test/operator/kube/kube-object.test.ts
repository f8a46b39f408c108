import { expect, test } from 'vitest';
import { isNewer, keyOf, kubeObject } from '../../../src/operator/kube/kube-object.ts';
import { object } from '../objects.ts';

test.each([
  ['10', '9', true],
  ['9', '10', false],
  ['10', '10', false],
  ['18446744073709551615', '18446744073709551614', true],
  ['x2', 'x1', true],
  ['x1', 'x2', true],
  ['x1', 'x1', false],
  ['5', 'x10', true],
  ['x', '10', true],
])('%s is newer than %s: %s', (a, b, expected) => {
  expect(isNewer(a, b)).toBe(expected);
});

test('a key is namespace and name, or only the name', () => {
  expect(keyOf({ metadata: { name: 'a', namespace: 'n' } })).toBe('n/a');
  expect(keyOf({ metadata: { name: 'a' } })).toBe('a');
});

const OWNER = { apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u', controller: true, blockOwnerDeletion: true };

test('an object is read with all its members', () => {
  const full = object({
    spec: { a: 1 },
    metadata: { deletionTimestamp: 't', finalizers: ['f'], labels: { a: 'b' }, ownerReferences: [OWNER], more: 1 },
  });
  expect(kubeObject.parse(full)).toEqual(full);
});

test.each([
  { uid: undefined },
  { finalizers: 'f' },
  { annotations: { a: 1 } },
  { ownerReferences: [{ ...OWNER, uid: 1 }] },
])('an object with %j is rejected', (wrong: object) => {
  expect(kubeObject.safeParse(object({ metadata: wrong })).success).toBe(false);
});
