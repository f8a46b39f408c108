import { expect, test } from 'vitest';
import { generatePrivateKey, lineOf, sshPublicOf } from '../../../src/api/ssh/keys.ts';
import { sshCertificateAuthority } from '../../../src/resources/ssh-certificate-authority.ts';
import { sshHostCertificate } from '../../../src/resources/ssh-host-certificate.ts';
import { startTestApi } from '../harness.ts';
import { readCertificate } from '../ssh/certificate-reader.ts';

const api = await startTestApi();
const { admin } = api;
const path = '/ssh_host_certificates';

const newAuthority = async () =>
  (await admin.post('/ssh_certificate_authorities', {})).as(sshCertificateAuthority.view);
const authority = await newAuthority();
const { algorithm, blob } = sshPublicOf(await generatePrivateKey('ed25519', null));
const hostKey = lineOf(algorithm, blob);
const body = (more: object = {}) => ({ ssh_certificate_authority_id: authority.id, public_key: hostKey, ...more });
const create = async (more: object = {}) => (await admin.post(path, body(more))).as(sshHostCertificate.view);

test('an SSH host certificate certifies exactly what it shows', async () => {
  const sent = {
    principals: ['web-1.example.com', '192.0.2.1', '2001:db8::1'],
    valid_after: '2026-01-02T03:04:05Z',
    valid_until: '2030-01-02T03:04:05Z',
  };
  const { id, certificate, ...shown } = await create({ ...sent, public_key: `${hostKey} root@web-1` });
  expect(shown).toMatchObject(sent);
  expect(readCertificate(certificate)).toMatchObject({
    type: 2,
    keyId: id,
    principals: sent.principals,
    validAfter: Date.parse(sent.valid_after) / 1000,
    validBefore: Date.parse(sent.valid_until) / 1000,
    subject: hostKey,
    authority: authority.public_key,
    signatureIsValid: true,
    rest: ['', '', ''],
  });
});

test('a certificate without principals and times is for all hosts, for a year from now', async () => {
  const before = Math.floor(Date.now() / 1000) * 1000;
  const { valid_after, valid_until, certificate } = await create({ principals: null });
  const [from, until] = [Date.parse(valid_after), Date.parse(valid_until)];
  expect(from).toBeGreaterThanOrEqual(before);
  expect(from).toBeLessThanOrEqual(Date.now());
  expect(readCertificate(certificate)).toMatchObject({
    principals: [],
    validAfter: from / 1000,
    validBefore: until / 1000,
  });
});

test('every certificate has a serial number of its own, which is stored', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, () => create()));
  const serials = made.map(({ certificate }) => readCertificate(certificate).serial);
  expect(new Set(serials).size).toBe(20);
  for (const serial of serials) expect(serial).toBeGreaterThan(0n);
  const rows = await api.rows('select serial::text as serial from ssh_host_certificates');
  expect(rows.map(({ serial }) => serial)).toEqual(expect.arrayContaining(serials.map(String)));
});

test('an authority does not sign with the sealed key of another', async () => {
  const other = await newAuthority();
  await api.rows(
    `update ssh_certificate_authorities a set private_key = b.private_key
       from ssh_certificate_authorities b where a.id = $1 and b.id = $2`,
    [other.id, authority.id],
  );
  const { error } = await admin.post(path, body({ ssh_certificate_authority_id: other.id }));
  expect(error.error_code).toBe('INTERNAL_ERROR');
});
