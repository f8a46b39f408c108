import { expect, test } from 'vitest';
import { isNewer, keyOf } from '../../../src/operator/kube/kube-object.ts';

test.each([
  ['10', '9', true],
  ['9', '10', false],
  ['10', '10', false],
  ['18446744073709551615', '18446744073709551614', true],
  ['x2', 'x1', true],
  ['x1', 'x1', false],
])('%s is newer than %s: %s', (a, b, expected) => {
  expect(isNewer(a, b)).toBe(expected);
});

test('a key is namespace and name, or only the name', () => {
  expect(keyOf({ metadata: { name: 'a', namespace: 'n' } })).toBe('n/a');
  expect(keyOf({ metadata: { name: 'a' } })).toBe('a');
});
