/** Explicit EC parameters are accepted only for the supported curves. */
import { expect, test } from 'vitest';
import { firstElement } from '../../../src/api/certificates/der.ts';
import { unboundedCurve } from '../../../src/api/certificates/ec.ts';
import { integer, oid, sequence } from './der.ts';

const PRIME_FIELD = '1.2.840.10045.1.1';
const P384 = `${'f'.repeat(63)}effffffff0000000000000000ffffffff`;
const over = (hex: string) =>
  firstElement(sequence(integer(1), sequence(oid(PRIME_FIELD), integer(Buffer.from(hex, 'hex')))));

// FIPS 186-4, appendix D.1.2.
test.each([
  ['P-256', 'ffffffff00000001000000000000000000000000ffffffffffffffffffffffff'],
  ['P-384', P384],
  ['P-521', `01${'ff'.repeat(65)}`],
])('the field of %s is known to be cheap', (_, prime) => {
  expect(unboundedCurve(over(prime))).toBeUndefined();
});

test.each([
  ['P-384 with one bit changed', P384.replace('e', 'c')],
  ['a small prime', '07'],
])('refuses another field: %s', (_, prime) => {
  expect(unboundedCurve(over(prime))).toMatch(/^is an EC key with parameters of its own/);
});
