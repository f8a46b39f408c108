import { X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { altered, KeyUsageFlags, type Made, makeCertificate, type Wanted } from '../../../dev/fixtures/x509.ts';
import { readCertificates } from '../../../src/api/certificates/x509.ts';
import { certificateAuthority, MAX_CA_PEM_BYTES } from '../../../src/resources/certificate-authority.ts';
import { KEY_USAGES } from '../../../src/resources/formats/x509-names.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const path = '/certificate_authorities';

const made: Record<string, Made> = {
  authority: await makeCertificate({}),
  other: await makeCertificate({ subject: 'CN=Other' }),
  leaf: await makeCertificate({ subject: 'CN=leaf', ca: false }),
  silent: await makeCertificate({ subject: 'CN=silent', ca: null }),
  weak: await makeCertificate({ algorithm: 'rsa1024' }),
  unsigning: await makeCertificate({ usages: KeyUsageFlags.digitalSignature }),
};

const never = (): never => {
  throw new Error('it is there');
};
const create = async (ca_pem: string) => (await admin.post(path, { ca_pem })).as(certificateAuthority.view);
const created = async (wanted: Wanted) => create((await makeCertificate(wanted)).pem);
const refused = async (ca_pem: unknown) => {
  const { error } = await admin.post(path, { ca_pem });
  expect(error.error_code).toBe('INVALID_REQUEST');
  return error.details['/ca_pem'];
};

describe('a certificate authority', () => {
  test('shows what its PEM says', async () => {
    const notBefore = new Date('2024-02-29T12:00:00Z');
    const notAfter = new Date('2049-12-31T23:59:59Z');
    const { pem } = await makeCertificate({
      subject: 'CN=Büro \\, Root, O=Example, C=DE',
      usages: KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign,
      purposes: ['1.3.6.1.5.5.7.3.2', '1.3.6.1.4.1.99999.1'],
      notBefore,
      notAfter,
    });
    const sent = { ca_pem: pem, description: 'clients', metadata: '{"a":1}' };
    const reply = await admin.post(path, sent);
    expect(reply.status).toBe(201);
    const authority = reply.as(certificateAuthority.view);
    expect(authority).toMatchObject({
      ...sent,
      subject_common_name: 'Büro , Root',
      not_before: notBefore.toISOString(),
      not_after: notAfter.toISOString(),
      key_usages: ['keyCertSign', 'cRLSign'],
      extended_key_usages: ['clientAuth', '1.3.6.1.4.1.99999.1'],
    });
    expect(authority.id).toMatch(/^ca_/);
    expect(authority.uri).toBe(`${BASE}${path}/${authority.id}`);
    expect((await admin.get(`${path}/${authority.id}`)).as(certificateAuthority.view)).toEqual(authority);
    const list = z.object({ certificate_authorities: z.array(certificateAuthority.view) });
    expect((await admin.get(path)).as(list).certificate_authorities).toContainEqual(authority);
  });

  test('names every key usage of RFC 5280', async () => {
    const all = KEY_USAGES.reduce((flags, _, bit) => flags | (1 << bit), 0);
    expect((await created({ usages: all })).key_usages).toEqual(KEY_USAGES);
  });

  test('may leave its usages open, and have no common name', async () => {
    const authority = await created({ subject: 'O=Example' });
    expect(authority).toMatchObject({ subject_common_name: null, key_usages: [], extended_key_usages: [] });
  });

  test.each(['rsa', 'ecdsa', 'ed25519'] as const)('may have a key of type %s', async (algorithm) => {
    expect((await created({ algorithm })).subject_common_name).toBe('Test CA');
  });

  test('may be an intermediate, have expired, or not be valid yet', async () => {
    const issuer = await makeCertificate({});
    expect((await created({ issuer, subject: 'CN=Between' })).subject_common_name).toBe('Between');
    await created({ notBefore: new Date('2001-01-01'), notAfter: new Date('2002-01-01') });
    await created({ notBefore: new Date('2101-01-01'), notAfter: new Date('2102-01-01') });
  });

  test('may have its own name as issuer, and be signed by the key that it had before', async () => {
    const issuer = await makeCertificate({ subject: 'CN=New key' });
    const wanted = { subject: 'CN=New key', issuer, authorityKey: '0123456789abcdef' };
    expect((await created(wanted)).subject_common_name).toBe('New key');
    const { pem } = await makeCertificate({ subject: 'CN=New key', issuer });
    expect(await refused(pem)).toMatch(/does not verify with its own key/);
  });

  test('is kept as it was sent, with what `openssl x509 -text` writes before it', async () => {
    const { pem } = await makeCertificate({});
    const text = 'Certificate:\n    Data:\n        Version: 3 (0x2)\n        Subject: CN=Test CA\n\n        04:d2:f1\n';
    expect((await create(text + pem)).ca_pem).toBe(text + pem);
    expect(await refused(`${text}${pem}${text}`)).toMatch(/text outside/);
  });

  test('is kept as it was sent, with any white space around and Windows line ends', async () => {
    const { pem } = await makeCertificate({});
    const sent = `\r\n${pem.replaceAll('\n', '\r\n')}\n\n`;
    expect((await create(sent)).ca_pem).toBe(sent);
  });

  test('changes in description and metadata alone', async () => {
    const authority = await created({});
    const changed = await admin.patch(`${path}/${authority.id}`, { description: 'new', metadata: 'm' });
    expect(changed.as(certificateAuthority.view)).toEqual({ ...authority, description: 'new', metadata: 'm' });
    const { pem } = await makeCertificate({});
    const { error } = await admin.patch(`${path}/${authority.id}`, { ca_pem: pem });
    expect(error.details['/ca_pem']).toBe('cannot be changed');
    expect((await admin.delete(`${path}/${authority.id}`)).status).toBe(204);
    expect((await admin.get(`${path}/${authority.id}`)).status).toBe(404);
  });
});

/** The same certificate with a key by another object identifier than that of elliptic curves. */
function withUnknownKey(der: Buffer): Buffer {
  const ecPublicKey = Buffer.from('06072a8648ce3d0201', 'hex');
  const changed = Buffer.from(der);
  changed[changed.indexOf(ecPublicKey) + ecPublicKey.length - 1] = 0x7f;
  return changed;
}

describe('what is no certificate authority is refused with the reason', async () => {
  const pem = (name: string) => made[name]?.pem ?? '';
  const key = (name: string) => made[name]?.keyPem ?? '';
  const der = Buffer.from(pem('authority').replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  const encoded = (bytes: Buffer, label = 'CERTIFICATE') =>
    `-----BEGIN ${label}-----\n${bytes.toString('base64')}\n-----END ${label}-----\n`;

  test.each([
    ['nothing', '', /is empty/],
    ['white space', ' \n\t', /is empty/],
    ['text', 'hello', /is not PEM/],
    ['DER in base64', der.toString('base64'), /is not PEM/],
    ['an end entity', pem('leaf'), /is not a CA/],
    ['a certificate without basic constraints', pem('silent'), /is not a CA/],
    ['a CA that may not sign', pem('unsigning'), /lacks keyCertSign/],
    ['a CA with a short RSA key', pem('weak'), /its key is an RSA key of 1024 bits; it must have at least 2048/],
    ['a CA with a key of an unknown type', encoded(withUnknownKey(der)), /public key of an unknown type/],
    ['two authorities', pem('authority') + pem('other'), /has 2 certificates/],
    ['a chain', pem('leaf') + pem('authority'), /has 2 certificates/],
    ['a private key', key('authority'), /is a private key/],
    ['an authority and its key', pem('authority') + key('authority'), /block 2 is a private key/],
    ['text before it on the same line', `CN=Test CA ${pem('authority')}`, /is not PEM/],
    ['text before it with dashes', `a -----BEGIN CERTIFICATE-----\n${pem('authority')}`, /is not PEM/],
    ['an indented block before it', ` -----BEGIN CERTIFICATE-----\nAAAA\n${pem('authority')}`, /./],
    ['text after it', `${pem('authority')}and more`, /text outside/],
    ['text before a key', `my key\n${key('authority')}`, /is a private key/],
    ['half of it', pem('authority').slice(0, 200), /truncated/],
    ['another end', pem('authority').replace('END CERTIFICATE', 'END X509 CRL'), /truncated/],
    ['a request', encoded(der, 'CERTIFICATE REQUEST'), /is a CERTIFICATE REQUEST/],
    ['bytes after it', encoded(Buffer.concat([der, Buffer.from('more')])), /trailing data/],
    ['bytes missing', encoded(der.subarray(0, -1)), /no readable X\.509/],
    ['other bytes', encoded(Buffer.from('no certificate')), /no readable X\.509/],
    ['no bytes', encoded(Buffer.alloc(0)), /not base64/],
    ['what is not base64', pem('authority').replace('MII', 'M!I'), /not base64/],
    ['broken padding', encoded(der).replace(/=*\n-----END/, '===\n-----END'), /not base64/],
    ['a NUL', `${pem('authority')}\u0000`, /NUL/],
    ['a number', 7, /must be a string/],
    ['null', null, /must be a string/],
    ['1 MB of zeros', encoded(Buffer.alloc(700_000)), new RegExp(`at most ${MAX_CA_PEM_BYTES} bytes`)],
    ['nesting without end', encoded(Buffer.alloc(20_000, Buffer.from([0x30, 0x80]))), /no readable X\.509/],
  ])('%s', async (_, sent, reason) => {
    expect(await refused(sent)).toMatch(reason);
  });

  const dated = await makeCertificate({
    subject: 'CN=Below',
    issuer: made.other ?? never(),
    notBefore: new Date('2024-02-29T12:00:00Z'),
    notAfter: new Date('2099-12-31T23:59:59Z'),
  });
  test.each([
    ['notAfter', '20991231235959Z', '20231332000000Z', /notAfter that is not a valid date/],
    ['notAfter', '20991231235959Z', '20230230000000Z', /notAfter that is not a valid date/],
    ['notAfter', '20991231235959Z', '20230101240000Z', /notAfter that is not a valid date/],
    ['notAfter', '20991231235959Z', '202301010000+01', /notAfter that is not a valid date/],
    ['notAfter', '20991231235959Z', '2023010100000aZ', /notAfter that is not a valid date/],
    [
      'notAfter',
      '20991231235959Z',
      '00010101000000Z',
      /notAfter .* different dates: 0001-01-01T00:00:00Z and 1901-01-01T00:00:00Z/,
    ],
    ['notAfter', '20991231235959Z', '00000101000000Z', /notAfter .* different dates/],
    ['notBefore', '240229120000Z', '241301000000Z', /notBefore that is not a valid date/],
    ['notBefore', '240229120000Z', '230229000000Z', /notBefore that is not a valid date/],
    ['notBefore', '240229120000Z', '240229120060Z', /notBefore that is not a valid date/],
  ])('a %s of %s that is %s', async (_, was, is, reason) => {
    expect(await refused(altered(dated, was, is))).toMatch(reason);
  });

  test.each([
    ['20991231235959Z', '99991231235959Z', '9999-12-31T23:59:59.000Z'],
    ['20991231235959Z', '20240229000000Z', '2024-02-29T00:00:00.000Z'],
    ['20991231235959Z', '18990101000000Z', '1899-01-01T00:00:00.000Z'],
  ])('but not a notAfter of %s that is %s', async (was, is, notAfter) => {
    expect((await create(altered(dated, was, is))).not_after).toBe(notAfter);
  });

  test('one that is signed by itself, but not with its own key', async () => {
    const notAfter = new Date('2099-12-31T23:59:59Z');
    for (const wanted of [{}, { usages: KeyUsageFlags.keyCertSign }, { algorithm: 'rsa' }] as const) {
      const self = await makeCertificate({ ...wanted, notAfter });
      expect(await refused(altered(self, '20991231235959Z', '20981231235959Z'))).toMatch(
        /does not verify with its own key/,
      );
    }
  });

  test.each<[string, (pem: string) => string]>([
    ['all in one line', (pem) => pem.replaceAll('\n', '')],
    ['its BEGIN and base64 in one line', (pem) => pem.replace('CERTIFICATE-----\n', 'CERTIFICATE-----')],
    ['its END and base64 in one line', (pem) => pem.replace('\n-----END', '-----END')],
    ['space before its BEGIN', (pem) => `  ${pem}`],
    ['space before its END', (pem) => pem.replace('-----END', ' -----END')],
    ['indented lines', (pem) => pem.replaceAll('\n', '\n  ')],
    ['blank lines in its base64', (pem) => pem.replaceAll('\n', '\n\n')],
    ['old Mac line ends', (pem) => pem.replaceAll('\n', '\r')],
    ['two blocks without a line end between', (pem) => pem.trimEnd() + pem],
  ])('%s, which OpenSSL cannot read', async (_, spoil) => {
    expect(() => new X509Certificate(spoil(pem('authority')))).toThrow();
    expect(await refused(spoil(pem('authority')))).toMatch(/on its own line|blank line/);
  });

  test('but whatever is taken, however its lines are, OpenSSL reads', () => {
    const lines = pem('authority').trimEnd().split('\n');
    const ends = fc.constantFrom(
      '\n',
      '\n',
      '\n',
      '\r\n',
      ' \n',
      '\n ',
      '\n\n',
      '\r',
      '\t\r\n',
      '',
      '\f\n',
      '\n\t',
      '\u00a0\n',
    );
    let taken = 0;
    fc.assert(
      fc.property(fc.array(ends, { minLength: lines.length, maxLength: lines.length }), ends, (after, before) => {
        const text = before + lines.map((line, index) => line + after[index]).join('');
        if ('reason' in readCertificates(text)) return;
        taken++;
        new X509Certificate(text);
      }),
      { numRuns: 3000 },
    );
    expect(taken).toBeGreaterThan(50);
  });

  test('and the reason does not show a private key', async () => {
    const secret = key('authority').split('\n')[1] ?? '';
    const reply = await admin.post(path, { ca_pem: key('authority') });
    expect(reply.status).toBe(400);
    expect(reply.text).not.toContain(secret);
    expect(api.logs.join('\n')).not.toContain(secret);
  });

  test('a certificate that was damaged anywhere never leads to a fault of the service', async () => {
    const statuses = new Set<number>();
    for (let at = 0; at < der.length; at += 3) {
      const damaged = Buffer.from(der);
      damaged.writeUInt8(der.readUInt8(at) ^ 0xff, at);
      statuses.add((await admin.post(path, { ca_pem: encoded(damaged) })).status);
    }
    expect([...statuses].filter((status) => status !== 201 && status !== 400)).toEqual([]);
  });

  test('it is required', async () => {
    expect((await admin.post(path, {})).error.details['/ca_pem']).toBe('is required');
    const { error } = await admin.post(path, { ca_pem: pem('authority'), subject_common_name: 'x' });
    expect(error.details['/subject_common_name']).toBe('is set by the service');
  });
});
