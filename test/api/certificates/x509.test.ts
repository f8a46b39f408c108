import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { altered, KeyUsageFlags, makeCertificate, pemOf, rsaPublicKey } from '../../../dev/fixtures/x509.ts';
import { fieldsOf, readCertificates } from '../../../src/api/certificates/x509.ts';
import { KEY_USAGES } from '../../../src/resources/formats/x509-names.ts';
import { BINARY_CURVE, EXPLICIT_CURVE } from './unusual-keys.ts';

const NOT_AFTER = new Date('2099-12-31T23:59:59Z');
const plain = await makeCertificate({ notAfter: NOT_AFTER });
const other = await makeCertificate({ subject: 'CN=Other', ca: false, issuer: plain, notAfter: NOT_AFTER });
const derOf = (pem: string) => Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');

function read(pem: string) {
  const certificates = readCertificates(pem);
  if ('reason' in certificates) throw new Error(certificates.reason);
  return certificates.value;
}

function reasonFor(pem: string): string {
  const certificates = readCertificates(pem);
  if ('value' in certificates) throw new Error('it was taken');
  return certificates.reason;
}

describe('a certificate', () => {
  test('is read with every field that the API shows', async () => {
    const { pem, certificate } = await makeCertificate({
      subject: 'CN=first, CN=second, O=Example',
      issuer: plain,
      ca: false,
      usages: KeyUsageFlags.digitalSignature | KeyUsageFlags.keyAgreement,
      purposes: ['1.3.6.1.5.5.7.3.1', '1.2.3'],
      names: [
        { type: 'dns', value: 'a.example' },
        { type: 'ip', value: '192.0.2.1' },
        { type: 'email', value: 'a@example.com' },
        { type: 'ip', value: '2001:db8:0:0:0:0:0:1' },
        { type: 'dns', value: '*.b.example' },
      ],
      serialNumber: '04D2F1A09B3C',
    });
    const [one, ...others] = read(pem);
    expect(others).toEqual([]);
    expect(one).toMatchObject({
      isAuthority: false,
      keyUsages: ['digitalSignature', 'keyAgreement'],
      extendedKeyUsages: ['serverAuth', '1.2.3'],
      commonName: 'first',
      dnsNames: ['a.example', '*.b.example'],
      ips: ['192.0.2.1', '2001:db8::1'],
      notBefore: certificate.notBefore.toISOString(),
      notAfter: certificate.notAfter.toISOString(),
      serialNumber: '04d2f1a09b3c',
    });
    expect(one && fieldsOf(one)).toMatchObject({ key_usages: ['digitalSignature', 'keyAgreement'] });
    const digest = (bytes: NodeJS.ArrayBufferView) => createHash('sha256').update(bytes).digest('hex');
    expect(one && digest(one.x509.raw)).toBe(digest(derOf(pem)));
  });

  test('without extensions or a common name is read with these fields empty', async () => {
    const { pem } = await makeCertificate({ subject: 'O=Example', ca: null });
    const [one] = read(pem);
    expect(one).toMatchObject({ isAuthority: false, keyUsages: undefined, commonName: null, dnsNames: [], ips: [] });
    expect(one && fieldsOf(one)).toMatchObject({ key_usages: [], extended_key_usages: [], subject_common_name: null });
  });

  test('may name every key usage', async () => {
    const usages = KEY_USAGES.reduce((flags, _, bit) => flags | (1 << bit), 0);
    expect(read((await makeCertificate({ usages })).pem)[0]?.keyUsages).toEqual(KEY_USAGES);
  });

  test('is an authority if its basic constraints say so', () => {
    expect(read(plain.pem)[0]?.isAuthority).toBe(true);
  });

  test('may have its own name as issuer and be signed by an earlier key, if its key identifiers differ', async () => {
    const again = { subject: 'CN=Test CA', issuer: plain };
    expect(read((await makeCertificate({ ...again, authorityKey: '0123' })).pem)).toHaveLength(1);
    expect(read((await makeCertificate({ ...again, authorityKey: '0123', ownKey: '4567' })).pem)).toHaveLength(1);
    for (const keys of [{}, { ownKey: '0123' }, { ownKey: '0123', authorityKey: '0123' }]) {
      expect(reasonFor((await makeCertificate({ ...again, ...keys })).pem)).toMatch(/does not verify with its own key/);
    }
  });
});

test('several certificates are read in order, with text before each', () => {
  expect(read(`a\n${plain.pem}b\n${other.pem}`).map(({ commonName }) => commonName)).toEqual(['Test CA', 'Other']);
});

/** P-256 with another generator, and hence a curve without a name. */
function unnamedCurve(): string {
  const der = derOf(EXPLICIT_CURVE);
  // The generator and the key are uncompressed points of 65 bytes each.
  const generator = der.indexOf(Buffer.from('046b17d1f2e12c4247', 'hex'));
  const key = der.indexOf(Buffer.from('03420004', 'hex')) + 3;
  der.copy(der, generator, key, key + 65);
  return pemOf(der);
}

/** Over a field of its own; OpenSSL could not read this key. */
function ownField(): string {
  const der = derOf(EXPLICIT_CURVE);
  der.writeUInt8(0xfe, der.indexOf(Buffer.from('ffffffff00000001', 'hex')) + 31);
  return pemOf(der);
}

test('a key may spell out the parameters of a supported curve', () => {
  expect(read(EXPLICIT_CURVE)).toHaveLength(1);
});

describe('refuses with the reason', async () => {
  const der = derOf(plain.pem);
  const request = plain.pem.replaceAll('CERTIFICATE', 'CERTIFICATE REQUEST');
  const wrong = (was: string, is: string) => altered(other, was, is);
  const NAME = await makeCertificate({ subject: 'CN=abc', ca: false, issuer: plain });
  const DNS = await makeCertificate({
    subject: 'CN=dns',
    ca: false,
    issuer: plain,
    names: [
      { type: 'dns', value: 'abc.example' },
      { type: 'dns', value: 'b' },
    ],
  });

  test.each([
    ['text that is not PEM', 'x', /^is not PEM/],
    ['a private key', plain.keyPem, /^is a private key; this field takes only certificates$/],
    ['a private key after a certificate', plain.pem + plain.keyPem, /^block 2 is a private key/],
    ['a certificate request', request, /^is a CERTIFICATE REQUEST, not a CERTIFICATE$/],
    ['a request before a certificate', request + plain.pem, /^block 1 is a CERTIFICATE REQUEST/],
    ['bytes after a certificate', pemOf(Buffer.concat([der, Buffer.from('more')])), /^has trailing data/],
    ['bytes that are not a certificate', pemOf(Buffer.from('other')), /^contains no readable X\.509 certificate$/],
    [
      'a notAfter that is not a valid date',
      wrong('20991231235959Z', '20231332000000Z'),
      /^has a notAfter that is not a valid date$/,
    ],
    [
      'a notAfter of the year 1',
      wrong('20991231235959Z', '00010101000000Z'),
      /^has a notAfter .*: 0001-01-01T00:00:00Z and 1901-01-01T00:00:00Z$/,
    ],
    [
      'a self-signed certificate with a wrong signature',
      altered(plain, '2099', '2098'),
      /^is self-signed, but its signature does not/,
    ],
    ['a common name that is not valid text', altered(NAME, 'abc', 'a\u0000c'), /^has a name that is not valid text$/],
    [
      'one DNS name that is not valid text',
      altered(DNS, 'abc.example', 'a\u0000c.example'),
      /^has a name that is not valid text$/,
    ],
  ])('%s', (_, pem, reason) => {
    expect(reasonFor(pem)).toMatch(reason);
  });

  test.each([
    ['', ''],
    ['block 2 ', plain.pem],
  ])('a date that parsers read differently, without repeating it in the log: %s', (where, before) => {
    expect(readCertificates(before + wrong('20991231235959Z', '00010101000000Z'))).toEqual({
      reason: `${where}has a notAfter that different parsers read as different dates: 0001-01-01T00:00:00Z and 1901-01-01T00:00:00Z`,
      fixed: `${where}has a notAfter that different parsers read as different dates`,
    });
  });

  test('unreadable bytes, with a reason that the log may repeat', () => {
    expect(readCertificates(pemOf(Buffer.from('other')))).toEqual({ reason: 'contains no readable X.509 certificate' });
  });

  test('a key of an unknown type', () => {
    const identifier = Buffer.from('06072a8648ce3d0201', 'hex');
    const changed = derOf(other.pem);
    changed[changed.indexOf(identifier) + identifier.length - 1] = 0x7f;
    expect(reasonFor(pemOf(changed))).toBe('has a public key of an unknown type');
  });

  test.each([
    [
      'on a binary curve, whose signatures are slow to verify',
      BINARY_CURVE,
      'is an EC key on the curve sect571r1; it must be on P-256, P-384 or P-521',
    ],
    [
      'on a curve without a name',
      unnamedCurve(),
      'is an EC key with parameters of its own; it must be on P-256, P-384 or P-521',
    ],
    [
      'over a field of its own, before OpenSSL reads it',
      ownField(),
      'is an EC key with parameters of its own; it must be on P-256, P-384 or P-521',
    ],
  ])('a key %s', (_, pem, problem) => {
    expect(reasonFor(pem)).toBe(`has a public key that ${problem}`);
  });

  test('a key that would take too long to use', async () => {
    const withKey = async (bits: number, exponent?: number) =>
      (await makeCertificate({ subject: 'CN=Key', issuer: plain, publicKey: await rsaPublicKey(bits, exponent) })).pem;
    expect(read(await withKey(8192, 2 ** 31 - 1))).toHaveLength(1);
    expect(reasonFor(await withKey(8193))).toBe(
      'has a public key that is an RSA key of 8193 bits; it may have at most 8192',
    );
    expect(reasonFor(await withKey(2048, 2 ** 31 + 1))).toBe(
      'has a public key that is an RSA key with an exponent above 2147483647; the usual one is 65537',
    );
  });
});
