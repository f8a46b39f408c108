/** The encoder of SSH certificates, without the API and without OpenSSH. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type HostCertificate, signHostCertificate } from '../../../src/api/ssh/certificate.ts';
import { lineOf, sshPublicOf } from '../../../src/api/ssh/keys.ts';
import { readCertificate } from './certificate-reader.ts';

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const KEYS: Record<string, KeyObject> = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  nistp256: ec('prime256v1'),
  nistp384: ec('secp384r1'),
  nistp521: ec('secp521r1'),
  ed25519: generateKeyPairSync('ed25519').privateKey,
};
const keys = Object.entries(KEYS);
const wanted = (subject: KeyObject, more: Partial<HostCertificate> = {}): HostCertificate => ({
  subject: sshPublicOf(subject),
  serial: 2n ** 64n - 1n,
  keyId: 'shcrt_1',
  principals: ['a.example', '192.0.2.1'],
  validAfter: 0n,
  validBefore: 253_402_300_799n,
  ...more,
});

describe('a certificate', () => {
  test.each(keys.flatMap(([by, authority]) => keys.map(([of, subject]) => ({ by, authority, of, subject }))))(
    'for a key of $of signed by $by has all its fields and a valid signature',
    async ({ authority, subject }) => {
      const line = (key: KeyObject) => lineOf(sshPublicOf(key).algorithm, sshPublicOf(key).blob);
      expect(readCertificate(await signHostCertificate(wanted(subject), authority))).toMatchObject({
        type: 2,
        serial: 2n ** 64n - 1n,
        keyId: 'shcrt_1',
        principals: ['a.example', '192.0.2.1'],
        validAfter: 0,
        validBefore: 253_402_300_799,
        rest: ['', '', ''],
        subject: line(subject),
        authority: line(authority),
        signatureIsValid: true,
      });
    },
  );

  test.each(['nistp256', 'nistp521'])('by %s is valid even if a number in its signature is short', async (curve) => {
    const authority = KEYS[curve];
    if (!authority) throw new Error('no such key');
    for (let n = 0; n < 300; n++) {
      const certificate = await signHostCertificate(wanted(authority, { serial: BigInt(n) }), authority);
      expect(readCertificate(certificate).signatureIsValid).toBe(true);
    }
  });

  test('has a new nonce each time, so that nobody can predict what is signed', async () => {
    const [[, key] = []] = keys;
    if (!key) throw new Error('no key');
    const made = await Promise.all(Array.from({ length: 10 }, () => signHostCertificate(wanted(key), key)));
    const nonces = made.map((certificate) => readCertificate(certificate).nonce.toString('hex'));
    expect(new Set(nonces).size).toBe(10);
    for (const nonce of nonces) expect(nonce).toHaveLength(64);
  });
});
