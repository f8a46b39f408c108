import { expect, test } from 'vitest';
import { mustBeOfType, mustBeWritable } from '../../../../src/operator/managed/secrets/unwritable-secret.ts';
import { object } from '../../objects.ts';

const data = { token: 'dA==', 'credential-id': 'aQ==' };

test.each([
  ['that may change', { data }, { token: 'dQ==' }],
  ['of which nobody said whether it may', { immutable: false, data }, undefined],
  ['that is immutable and right', { immutable: true, data }, { ...data }],
])("a Secret %s is in nobody's way", (_, secret, wanted) => {
  expect(() => mustBeWritable(object(secret), wanted)).not.toThrow();
});

test.each([
  ['before a token is issued', undefined],
  ['with another token', { ...data, token: 'dQ==' }],
  ['under another key', { other: 'dA==', 'credential-id': 'aQ==' }],
  ['without a key that is to go', { ...data, old: null }],
])('an immutable Secret is in the way %s', (_, wanted) => {
  const message =
    'Secret a is immutable, and has to change: delete the Secret, or set spec.secret.name to another name';
  expect(() => mustBeWritable(object({ immutable: true, data }), wanted)).toThrow(message);
});

test('a Secret of another type is in the way', () => {
  const secretType = 'tunnel-operator.dev/authtoken';
  expect(() => mustBeOfType({ secretType }, object({ type: secretType }))).not.toThrow();
  const message = `Secret a has the type Opaque, and has to have the type ${secretType}: delete the Secret, or set`;
  expect(() => mustBeOfType({ secretType }, object({ type: 'Opaque' }))).toThrow(message);
});
