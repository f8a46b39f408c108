import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { altered, KeyUsageFlags, type Made, makeCertificate } from '../../../dev/fixtures/x509.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { tlsCertificate } from '../../../src/resources/tls-certificate.ts';
import { startTestApi } from '../harness.ts';

const secrets = createSecrets([{ id: 'k', bytes: Buffer.alloc(32, 1) }]);
const api = await startTestApi({ secrets });
const { admin } = api;
const path = '/tls_certificates';

const root = await makeCertificate({ subject: 'CN=Root' });
const between = await makeCertificate({ subject: 'CN=Between', issuer: root });
const leaf = await makeCertificate({
  subject: 'CN=www.example.com',
  issuer: between,
  ca: false,
  usages: KeyUsageFlags.digitalSignature,
  purposes: ['1.3.6.1.5.5.7.3.1'],
  names: [
    { type: 'dns', value: 'www.example.com' },
    { type: 'dns', value: '*.example.com' },
    { type: 'ip', value: '192.0.2.1' },
    { type: 'ip', value: '2001:db8::1' },
  ],
  serialNumber: '04D2F1A09B3C',
});
const other = await makeCertificate({ subject: 'CN=Other' });
const weak = await makeCertificate({ algorithm: 'rsa1024' });
const twin = await makeCertificate({ subject: 'CN=Root' });
const below = (ca: false | null) =>
  makeCertificate({ subject: 'CN=no authority', issuer: root, ca }).then((issuer) =>
    makeCertificate({ subject: 'CN=below', issuer, ca: false }).then(({ pem, keyPem }) => ({
      certificate_pem: pem + issuer.pem + root.pem,
      private_key_pem: keyPem,
    })),
  );
const falseRoot = altered(
  await makeCertificate({ ca: false, notAfter: new Date('2099-12-31T23:59:59Z') }),
  '2099',
  '2098',
);
const selfSigned = (made: Made) => ({ certificate_pem: made.pem, private_key_pem: made.keyPem });

describe('a TLS certificate', () => {
  test('shows what its first certificate says, and not its key', async () => {
    const sent = { certificate_pem: leaf.pem + between.pem + root.pem, description: 'd', metadata: 'm' };
    const reply = await admin.post(path, { ...sent, private_key_pem: leaf.keyPem });
    const certificate = reply.as(tlsCertificate.view);
    expect(certificate).toMatchObject({
      ...sent,
      subject_common_name: 'www.example.com',
      subject_alternative_names: {
        dns_names: ['www.example.com', '*.example.com'],
        ips: ['192.0.2.1', '2001:db8::1'],
      },
      not_before: leaf.certificate.notBefore.toISOString(),
      not_after: leaf.certificate.notAfter.toISOString(),
      serial_number: '04d2f1a09b3c',
      key_usages: ['digitalSignature'],
      extended_key_usages: ['serverAuth'],
      private_key_type: 'ecdsa',
      issued_at: null,
    });
    expect(certificate.id).toMatch(/^cert_/);
    expect(reply.text).not.toContain('private_key_pem');
    expect((await admin.get(`${path}/${certificate.id}`)).as(tlsCertificate.view)).toEqual(certificate);
    expect((await admin.get(path)).text).not.toContain('PRIVATE KEY');
  });

  test('keeps its key sealed, for the row and column that it is in', async () => {
    const made = await makeCertificate({ ca: false });
    const { id } = (await admin.post(path, selfSigned(made))).as(tlsCertificate.view);
    const [row] = await api.rows('select private_key from tls_certificates where id = $1', [id]);
    const sealed = String(row?.private_key);
    expect(sealed).toMatch(/^v1\.k\./);
    const [table, field] = [tlsCertificate.table, 'private_key'];
    const opened = createPrivateKey(secrets.open(sealed, { table, id, field }));
    expect(opened.equals(createPrivateKey(made.keyPem))).toBe(true);
  });

  test.each(['rsa', 'ecdsa', 'ed25519'] as const)('may have a key of type %s', async (algorithm) => {
    const made = await makeCertificate({ algorithm, ca: null });
    const certificate = (await admin.post(path, selfSigned(made))).as(tlsCertificate.view);
    expect(certificate.private_key_type).toBe(algorithm);
    expect(certificate.subject_alternative_names).toEqual({ dns_names: [], ips: [] });
  });

  test.each(['pkcs1', 'sec1'] as const)('may come with a key in the form of %s', async (type) => {
    const made = await makeCertificate({ algorithm: type === 'pkcs1' ? 'rsa' : 'ecdsa' });
    const key = createPrivateKey(made.keyPem).export({ type, format: 'pem' }).toString();
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    for (const private_key_pem of type === 'sec1' ? [key, parameters + key] : [key]) {
      expect((await admin.post(path, { certificate_pem: made.pem, private_key_pem })).status).toBe(201);
    }
  });

  test('may have expired', async () => {
    const made = await makeCertificate({ notBefore: new Date('2001-01-01'), notAfter: new Date('2002-01-01') });
    expect((await admin.post(path, selfSigned(made))).status).toBe(201);
  });

  test('changes in description and metadata alone', async () => {
    const made = await makeCertificate({});
    const certificate = (await admin.post(path, selfSigned(made))).as(tlsCertificate.view);
    const changed = await admin.patch(`${path}/${certificate.id}`, { description: 'new' });
    expect(changed.as(tlsCertificate.view)).toEqual({ ...certificate, description: 'new' });
    expect((await admin.delete(`${path}/${certificate.id}`)).status).toBe(204);
  });

  test('may be sent back with its key, in another form, too, and with no other', async () => {
    const made = await makeCertificate({ algorithm: 'ecdsa' });
    const { id } = (await admin.post(path, selfSigned(made))).as(tlsCertificate.view);
    const sec1 = createPrivateKey(made.keyPem).export({ type: 'sec1', format: 'pem' }).toString();
    for (const private_key_pem of [made.keyPem, `${made.keyPem}\n`, sec1]) {
      const sent = { ...selfSigned(made), private_key_pem, description: private_key_pem.slice(0, 20) };
      expect((await admin.patch(`${path}/${id}`, sent)).as(tlsCertificate.view).description).toBe(sent.description);
    }
    const much = `${'\n'.repeat(64 * 1024)}${made.keyPem}`;
    for (const private_key_pem of [other.keyPem, '-----BEGIN PRIVATE KEY-----', much, 1, {}]) {
      const { error } = await admin.patch(`${path}/${id}`, { ...selfSigned(made), private_key_pem });
      const { request_id, ...details } = error.details;
      expect(details).toEqual({ '/private_key_pem': 'cannot be changed' });
    }
  });

  test('is replayed under its idempotency key, and never with its private key', async () => {
    const body = selfSigned(await makeCertificate({}));
    const headers = { 'idempotency-key': 'tls-1' };
    const first = await admin.post(path, body, headers);
    const again = await admin.post(path, body, headers);
    expect(again).toMatchObject({ status: 201, text: first.text });
    expect(again.headers['idempotency-replayed']).toBe('true');
  });
});

describe('what does not belong together is refused with the reason', async () => {
  const many = Array.from({ length: 11 }, () => leaf.pem).join('');
  const curve = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const encrypted = createPrivateKey(leaf.keyPem)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    .toString();
  // In SEC 1, the public point stands after the private number.
  const own = createPrivateKey(leaf.keyPem).export({ type: 'sec1', format: 'der' });
  const strange = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'der' });
  const halves = `-----BEGIN EC PRIVATE KEY-----\n${Buffer.concat([strange.subarray(0, 39), own.subarray(39)]).toString('base64')}\n-----END EC PRIVATE KEY-----\n`;
  const legacy =
    '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n';

  test.each([
    ['/certificate_pem', 'the issuer first', { certificate_pem: between.pem + leaf.pem }, /1 is not signed by .* 2/],
    ['/certificate_pem', 'a gap', { certificate_pem: leaf.pem + root.pem }, /1 is not signed by/],
    ['/certificate_pem', 'a stranger at the end', { certificate_pem: leaf.pem + between.pem + other.pem }, /2 is not/],
    ['/certificate_pem', 'a CA of the same name', { certificate_pem: between.pem + twin.pem }, /1 is not signed/],
    ['/certificate_pem', 'an issuer that is no CA', await below(false), /1 is not signed by .* 2/],
    ['/certificate_pem', 'an issuer that does not say that it is a CA', await below(null), /1 is not signed by .* 2/],
    ['/certificate_pem', 'itself twice', { certificate_pem: leaf.pem + leaf.pem }, /1 is not signed/],
    [
      '/certificate_pem',
      'a root that is not its own',
      { certificate_pem: falseRoot },
      /does not verify with its own key/,
    ],
    ['/certificate_pem', 'very many', { certificate_pem: many }, /more than 10/],
    ['/certificate_pem', 'a key', { certificate_pem: leaf.keyPem }, /is a private key/],
    ['/certificate_pem', 'both', { certificate_pem: leaf.pem + leaf.keyPem }, /block 2 is a private key/],
    ['/certificate_pem', 'garbage', { certificate_pem: 'x' }, /is not PEM/],
    ['/certificate_pem', 'nothing', { certificate_pem: undefined }, /is required/],
    ['/private_key_pem', 'another key', { private_key_pem: other.keyPem }, /is not the key of the first certificate/],
    ['/private_key_pem', 'a key with the public half of another', { private_key_pem: halves }, /is not the key/],
    ['/private_key_pem', 'the issuer’s key', { private_key_pem: between.keyPem }, /is not the key/],
    ['/private_key_pem', 'a certificate', { private_key_pem: leaf.pem }, /is a CERTIFICATE/],
    ['/private_key_pem', 'two keys', { private_key_pem: leaf.keyPem + leaf.keyPem }, /exactly one/],
    ['/private_key_pem', 'an encrypted key', { private_key_pem: encrypted }, /passphrase/],
    ['/private_key_pem', 'an old encrypted key', { private_key_pem: legacy }, /passphrase/],
    ['/private_key_pem', 'a short RSA key', { private_key_pem: weak.keyPem }, /1024 bits/],
    ['/private_key_pem', 'another curve', { private_key_pem: curve('secp256k1') }, /curve secp256k1/],
    ['/private_key_pem', 'garbage', { private_key_pem: 'x' }, /is not PEM/],
    ['/private_key_pem', 'nothing', { private_key_pem: undefined }, /is required/],
    ['/private_key_pem', 'null', { private_key_pem: null }, /must be a string/],
    [
      '/private_key_pem',
      'a broken key',
      { private_key_pem: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----' },
      /no readable private key/,
    ],
    ['/private_key_type', 'a derived field', { private_key_type: 'rsa' }, /is set by the service/],
  ])('%s: %s', async (pointer, _, wrong, reason) => {
    const body = { certificate_pem: leaf.pem, private_key_pem: leaf.keyPem, ...wrong };
    const { error } = await admin.post(path, body);
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details[pointer]).toMatch(reason);
  });

  test('and both fields are named when both are wrong', async () => {
    const { error } = await admin.post(path, { certificate_pem: 'x', private_key_pem: 'y' });
    expect(Object.keys(error.details)).toEqual(expect.arrayContaining(['/certificate_pem', '/private_key_pem']));
  });
});

describe('a private key', () => {
  test('is nowhere but sealed in its column', async () => {
    const made = await makeCertificate({ subject: 'CN=secret' });
    const lines = made.keyPem.split('\n').filter((line) => line.length > 40);
    const { id } = (await admin.post(path, selfSigned(made), { 'idempotency-key': 'k' })).as(tlsCertificate.view);
    await admin.post(path, { ...selfSigned(made), certificate_pem: leaf.pem });
    await admin.patch(`${path}/${id}`, { description: 'x' });
    await admin.delete(`${path}/${id}`);
    await api.rows('alter table events add constraint broken check (false) not valid');
    expect((await admin.post(path, selfSigned(made))).status).toBe(500);
    await api.rows('alter table events drop constraint broken');
    const tables = await api.rows("select tablename from pg_tables where schemaname = 'public'");
    const dumps = await Promise.all(tables.map(({ tablename }) => api.rows(`select t::text from "${tablename}" t`)));
    const everything = JSON.stringify(dumps) + api.logs.join('\n');
    expect(everything).toContain(id);
    for (const line of lines) expect(everything).not.toContain(line);
  });

  test('cannot be kept by a service without an encryption key, which says so', async () => {
    const bare = await startTestApi({ secrets: createSecrets(undefined) });
    const { error } = await bare.admin.post(path, selfSigned(await makeCertificate({})));
    expect(error).toMatchObject({ error_code: 'UNAVAILABLE', msg: expect.stringMatching(/ENCRYPTION_KEY/) });
    expect(await bare.rows('select 1 from tls_certificates')).toEqual([]);
  });
});
