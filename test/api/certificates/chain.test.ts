import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type AlgorithmName, makeCertificate, type Wanted } from '../../../dev/fixtures/x509.ts';
import { readAuthority } from '../../../src/api/certificates/authority.ts';
import { type Chain, fits, readChain, readPrivateKey } from '../../../src/api/certificates/chain.ts';
import type { Read } from '../../../src/api/certificates/pem.ts';
import type { Certificate } from '../../../src/api/certificates/x509.ts';
import { MAX_CHAIN_LENGTH } from '../../../src/resources/tls-certificate.ts';

const root = await makeCertificate({ subject: 'CN=Root' });
const between = await makeCertificate({ subject: 'CN=Between', issuer: root });
const leaf = await makeCertificate({ subject: 'CN=Leaf', issuer: between, ca: false });
const block = (base64: string) => `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
const nameOf = (read: Read<Certificate>) => ('value' in read ? read.value.commonName : read.reason);
const leafOf = (read: Read<Chain>): Read<Certificate> => ('value' in read ? { value: read.value.leaf } : read);

describe('reading a chain', async () => {
  const twin = await makeCertificate({ subject: 'CN=Root' });
  const noAuthority = await makeCertificate({ subject: 'CN=None', issuer: root, ca: false });
  const below = await makeCertificate({ subject: 'CN=Below', issuer: noAuthority, ca: false });

  const oldRoot = await makeCertificate({ subject: 'CN=Old root' });
  const crossSigned = await makeCertificate({ subject: 'CN=Between', issuer: oldRoot, keys: between.keys });
  const namesakes = await Promise.all(
    Array.from({ length: 9 }, async () => (await makeCertificate({ subject: 'CN=Between', keys: between.keys })).pem),
  );

  test.each([
    ['one certificate', leaf.pem, 'Leaf'],
    ['a certificate and its issuer', leaf.pem + between.pem, 'Leaf'],
    ['a certificate, its issuer and the root', leaf.pem + between.pem + root.pem, 'Leaf'],
    ['the maximum number of certificates', root.pem.repeat(MAX_CHAIN_LENGTH), 'Root'],
    ['too many certificates', root.pem.repeat(MAX_CHAIN_LENGTH + 1), `has more than ${MAX_CHAIN_LENGTH} certificates`],
    ['too many certificates, which are not parsed', block('AAAA').repeat(MAX_CHAIN_LENGTH + 1), /^has more than/],
    ['text that is not PEM', 'x', /^is not PEM/],
    ['issuers in another order', leaf.pem + root.pem + between.pem, 'Leaf'],
    ['an issuer twice', leaf.pem + between.pem + between.pem, 'Leaf'],
    ['an issuer signed by two roots', leaf.pem + oldRoot.pem + crossSigned.pem + between.pem + root.pem, 'Leaf'],
    ['an issuer signed by the old root alone', leaf.pem + crossSigned.pem, 'Leaf'],
    ['many issuers of one name', leaf.pem + namesakes.slice(0, 9).join(''), 'Leaf'],
    [
      'the issuer first',
      between.pem + leaf.pem,
      /^certificate 2 is not a CA, .*; the server's own certificate comes first/,
    ],
    ['the certificate itself again', leaf.pem + between.pem + leaf.pem, /^certificate 3 is not a CA/],
    ['another issuer of the same name', between.pem + twin.pem, /^certificate 2 has signed neither the first nor any/],
    ['an issuer that is not a CA', below.pem + noAuthority.pem, /^certificate 2 is not a CA/],
    ['a CA that did not issue the certificate', leaf.pem + root.pem, /^certificate 2 has signed neither/],
    ['a CA of something else', leaf.pem + between.pem + oldRoot.pem, /^certificate 3 has signed neither/],
  ])('%s', (_, pem, expected) => {
    expect(nameOf(leafOf(readChain(pem)))).toMatch(expected);
  });
});

test('a chain ends with the certificate that expires first', async () => {
  const [soon, later] = [new Date('2031-01-01T00:00:00Z'), new Date('2032-01-01T00:00:00Z')];
  const issuer = await makeCertificate({ subject: 'CN=Soon', issuer: root, notAfter: soon });
  const outlasting = await makeCertificate({ subject: 'CN=Later', issuer, ca: false, notAfter: later });
  expect(readChain(outlasting.pem)).toMatchObject({ value: { notAfter: later.toISOString() } });
  expect(readChain(outlasting.pem + issuer.pem)).toMatchObject({ value: { notAfter: soon.toISOString() } });
});

describe('reading a certificate authority', async () => {
  const usage = (usages: number) => makeCertificate({ usages });
  const [KEY_CERT_SIGN, DIGITAL_SIGNATURE] = [1 << 5, 1];

  test.each([
    ['a CA without key usages', root.pem, 'Root'],
    ['a CA that may sign certificates', (await usage(KEY_CERT_SIGN)).pem, 'Test CA'],
    ['a CA that may not sign certificates', (await usage(DIGITAL_SIGNATURE)).pem, /^may not sign certificates/],
    ['a CA with a long RSA key', (await makeCertificate({ algorithm: 'rsa' })).pem, 'Test CA'],
    [
      'a CA with a short RSA key',
      (await makeCertificate({ algorithm: 'rsa1024' })).pem,
      /^its key is an RSA key of 1024 bits; it must have at least 2048$/,
    ],
    ['two certificates', root.pem + between.pem, 'has 2 certificates; create one certificate authority for each'],
    ['a leaf', leaf.pem, /^is not a CA/],
    ['text that is not PEM', 'x', /^is not PEM/],
  ])('%s', (_, pem, expected) => {
    expect(nameOf(readAuthority(pem))).toMatch(expected);
  });
});

describe('reading a private key', () => {
  const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8') =>
    key.export({ type, format: 'pem' }).toString();
  const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).privateKey;
  const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
  const [long, p256] = [rsa(2048), ec('prime256v1')];
  const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
  const encrypted = p256.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString();
  const broken = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----';

  test.each([
    ['RSA', pem(long), 'rsa'],
    ['RSA as PKCS #1', pem(long, 'pkcs1'), 'rsa'],
    ['P-256', pem(p256), 'ecdsa'],
    ['P-256 as SEC 1', pem(p256, 'sec1'), 'ecdsa'],
    ['P-256 with its parameters', parameters + pem(p256, 'sec1'), 'ecdsa'],
    ['P-384', pem(ec('secp384r1')), 'ecdsa'],
    ['P-521', pem(ec('secp521r1')), 'ecdsa'],
    ['Ed25519', pem(generateKeyPairSync('ed25519').privateKey), 'ed25519'],
    ['a short RSA key', pem(rsa(1024)), 'is an RSA key of 1024 bits; it must have at least 2048'],
    ['an unsupported curve', pem(ec('secp256k1')), 'is an EC key on the curve secp256k1; it must be on P-256'],
    [
      'an unsupported type',
      pem(generateKeyPairSync('x25519').privateKey),
      'is a key of type x25519; it must be RSA, ECDSA or Ed25519',
    ],
    ['EC parameters alone', parameters, 'must be exactly one private key'],
    ['two keys', pem(p256) + pem(p256), 'must be exactly one private key'],
    ['an encrypted key', encrypted, 'is encrypted with a passphrase'],
    ['P-256 with attributes and comments', `Bag Attributes\n    localKeyID: 1B\n\n# of www\n\n${pem(p256)}`, 'ecdsa'],
    ['a certificate', leaf.pem, 'is a CERTIFICATE, not a PRIVATE KEY'],
    ['a broken key', broken, 'contains no readable private key'],
    ['text that is not PEM', 'x', /^is not PEM/],
  ])('%s', (_, text, expected) => {
    const read = readPrivateKey(text);
    expect('value' in read ? read.value.type : read.reason).toMatch(expected);
    if ('value' in read) expect(read.value.key.equals(createPrivateKey(text))).toBe(true);
  });

  test('refuses a modulus that would take too long to use, by its length alone', () => {
    const jwk = long.export({ format: 'jwk' });
    // Only the length of n matters here, so the other numbers need not match it.
    const n = Buffer.from([1, ...Buffer.alloc(1023), 1]).toString('base64url');
    const huge = createPrivateKey({ key: { ...jwk, n }, format: 'jwk' });
    expect(readPrivateKey(pem(huge))).toEqual({ reason: 'is an RSA key of 8193 bits; it may have at most 8192' });
  });
});

describe('a certificate and a private key', () => {
  const taken = <T>(read: Read<T>): T => {
    if ('reason' in read) throw new Error(read.reason);
    return read.value;
  };
  const of = async (algorithm: AlgorithmName, wanted: Wanted = {}) => {
    const { pem, keyPem } = await makeCertificate({ subject: 'CN=Leaf', issuer: root, algorithm, ...wanted });
    return { certificate: taken(readChain(pem)).leaf, key: taken(readPrivateKey(keyPem)) };
  };

  test.each<AlgorithmName>(['rsa', 'ecdsa', 'p521', 'ed25519'])(
    'match only if they belong together: %s',
    async (algorithm) => {
      const [one, other] = [await of(algorithm), await of(algorithm)];
      expect(await fits(one.certificate, one.key)).toBe(true);
      expect(await fits(one.certificate, other.key)).toBe(false);
    },
  );
});
