/** Which numbers of an RSA key are too long for its modulus. */
import { expect, test } from 'vitest';
import { unboundedRsaKey } from '../../../src/api/certificates/rsa.ts';

test.each([
  ['01ff', '0100', false],
  ['02', '01ff', false],
  ['', '01', false],
  ['0200', '01ff', true],
  ['80', '7f', true],
  ['0100', 'ff', true],
])('%s is too long for a modulus of %s: %s', (number, modulus, isTooLong) => {
  const [given, within] = [number, modulus].map((hex) => Buffer.from(hex, 'hex'));
  const reason = unboundedRsaKey(within ?? Buffer.alloc(0), given ? [Buffer.from([1]), given] : []);
  expect(reason !== undefined).toBe(isTooLong);
});
