import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { generatePrivateKey, sshPublicOf } from '../../../src/api/ssh/keys.ts';

test.each([
  ['ecdsa', 'nistp256', 'ecdsa-sha2-nistp256'],
  ['ecdsa', 'nistp384', 'ecdsa-sha2-nistp384'],
  ['ecdsa', 'nistp521', 'ecdsa-sha2-nistp521'],
  ['ecdsa', null, 'ecdsa-sha2-nistp256'],
  ['ed25519', null, 'ssh-ed25519'],
] as const)('a key of type %s on the curve %s has the algorithm %s', async (type, curve, algorithm) => {
  const key = await generatePrivateKey(type, curve);
  expect(key.type).toBe('private');
  expect(sshPublicOf(key).algorithm).toBe(algorithm);
});

test('refuses a key on a curve that SSH has no name for', () => {
  expect(() => sshPublicOf(generateKeyPairSync('ed448').publicKey)).toThrow();
});

test('refuses to generate an RSA key when too many are being generated or waiting', async () => {
  const results = await Promise.allSettled(Array.from({ length: 11 }, () => generatePrivateKey('rsa', null)));
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toMatchObject([{ reason: { code: 'UNAVAILABLE' } }]);
});
