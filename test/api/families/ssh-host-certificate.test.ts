import { describe, expect, test } from 'vitest';
import { generatePrivateKey, lineOf, sshPublicOf } from '../../../src/api/ssh/keys.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { MAX_PRINCIPALS } from '../../../src/resources/formats/ssh-principal.ts';
import { sshCertificateAuthority } from '../../../src/resources/ssh-certificate-authority.ts';
import { sshHostCertificate } from '../../../src/resources/ssh-host-certificate.ts';
import { startTestApi } from '../harness.ts';
import { readCertificate } from '../ssh/certificate-reader.ts';

const api = await startTestApi();
const { admin } = api;
const path = '/ssh_host_certificates';

const publicKey = async (...args: Parameters<typeof generatePrivateKey>) => {
  const { algorithm, blob } = sshPublicOf(await generatePrivateKey(...args));
  return lineOf(algorithm, blob);
};
const authority = (await admin.post('/ssh_certificate_authorities', {})).as(sshCertificateAuthority.view);
const hostKey = await publicKey('ed25519', null);
const body = (more: object = {}) => ({ ssh_certificate_authority_id: authority.id, public_key: hostKey, ...more });
const create = async (more: object = {}) => (await admin.post(path, body(more))).as(sshHostCertificate.view);
const refused = async (more: object) => {
  const { error } = await admin.post(path, body(more));
  expect(error.error_code).toBe('INVALID_REQUEST');
  return error.details;
};

describe('an SSH host certificate', () => {
  test('shows what was asked for, and certifies exactly that', async () => {
    const sent = {
      public_key: `${hostKey} root@web-1`,
      principals: ['web-1.example.com', '192.0.2.1', '2001:db8::1'],
      valid_after: '2026-01-02T03:04:05Z',
      valid_until: '2030-01-02T03:04:05Z',
      description: 'd',
      metadata: 'm',
    };
    const reply = await admin.post(path, body(sent));
    expect(reply.status).toBe(201);
    const certificate = reply.as(sshHostCertificate.view);
    expect(certificate).toMatchObject({ ...sent, ssh_certificate_authority_id: authority.id, key_type: 'ed25519' });
    expect(certificate.id).toMatch(/^shcrt_/);
    expect((await admin.get(`${path}/${certificate.id}`)).as(sshHostCertificate.view)).toEqual(certificate);

    expect(certificate.certificate).toMatch(/^ssh-ed25519-cert-v01@openssh\.com [A-Za-z0-9+/]+=*$/);
    expect(readCertificate(certificate.certificate)).toMatchObject({
      type: 2,
      keyId: certificate.id,
      principals: sent.principals,
      validAfter: Date.parse(sent.valid_after) / 1000,
      validBefore: Date.parse(sent.valid_until) / 1000,
      subject: hostKey,
      authority: authority.public_key,
      signatureIsValid: true,
      rest: ['', '', ''],
    });
  });

  test('is valid from now on for a year, and for all hosts, unless something else is asked for', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { valid_after, valid_until, principals, certificate } = await create({ principals: null });
    expect(principals).toEqual([]);
    expect(readCertificate(certificate).principals).toEqual([]);
    const [from, until] = [new Date(valid_after), new Date(valid_until)];
    expect(from.getTime()).toBeGreaterThanOrEqual(before);
    expect(from.getTime()).toBeLessThanOrEqual(Date.now());
    expect(valid_after).toMatch(/:\d\dZ$/);
    expect(until.getUTCFullYear()).toBe(from.getUTCFullYear() + 1);
    expect(readCertificate(certificate)).toMatchObject({
      validAfter: from.getTime() / 1000,
      validBefore: until.getTime() / 1000,
    });
  });

  test('that begins later is valid for a year from then; that began earlier, for a year from now', async () => {
    const later = await create({ valid_after: '2099-05-06T00:00:00Z' });
    expect(later.valid_until).toBe('2100-05-06T00:00:00Z');
    const earlier = await create({ valid_after: '2001-05-06T00:00:00Z' });
    expect(new Date(earlier.valid_until).getUTCFullYear()).toBe(new Date().getUTCFullYear() + 1);
  });

  test('counts whole seconds, in any time zone', async () => {
    const sent = { valid_after: '2026-01-01T01:00:00.999+01:00', valid_until: '2026-01-01T00:00:01.1Z' };
    expect(await create(sent)).toMatchObject({
      valid_after: '2026-01-01T00:00:00Z',
      valid_until: '2026-01-01T00:00:01Z',
    });
  });

  test('names hosts as ssh looks for them', async () => {
    const { principals } = await create({ principals: ['WEB.Example.COM', '2001:DB8:0::0001', 'web', 'a-b.c'] });
    expect(principals).toEqual(['web.example.com', '2001:db8::1', 'web', 'a-b.c']);
  });

  test('has a serial number that no other of its authority has', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => create()));
    const serials = made.map(({ certificate }) => readCertificate(certificate).serial);
    expect(new Set(serials).size).toBe(20);
    for (const serial of serials) expect(serial).toBeGreaterThan(0n);
    const rows = await api.rows('select serial::text as serial from ssh_host_certificates');
    expect(rows.map(({ serial }) => serial)).toEqual(expect.arrayContaining(serials.map(String)));
  });

  test('changes in description and metadata alone', async () => {
    const certificate = await create({ principals: ['a.example'] });
    const changed = await admin.patch(`${path}/${certificate.id}`, { description: 'new', metadata: 'm' });
    expect(changed.as(sshHostCertificate.view)).toEqual({ ...certificate, description: 'new', metadata: 'm' });
    const immutable = ['public_key', 'principals', 'valid_after', 'valid_until', 'ssh_certificate_authority_id'];
    for (const field of [...immutable, 'certificate', 'key_type']) {
      const { error } = await admin.patch(`${path}/${certificate.id}`, { [field]: 'another' });
      expect(error.details[`/${field}`]).toBe(
        immutable.includes(field) ? 'cannot be changed' : 'is set by the service',
      );
    }
    expect((await admin.delete(`${path}/${certificate.id}`)).status).toBe(204);
  });

  test('is the same again under its idempotency key', async () => {
    const headers = { 'idempotency-key': 'shcrt-1' };
    const first = await admin.post(path, body(), headers);
    expect((await admin.post(path, body(), headers)).text).toBe(first.text);
  });

  test.each([
    [
      '/valid_until',
      { valid_after: '2026-01-01T00:00:00Z', valid_until: '2026-01-01T00:00:00Z' },
      /which is 2026-01-01T00:00:00Z$/,
    ],
    ['/valid_until', { valid_after: '2026-01-01T00:00:00.1Z', valid_until: '2026-01-01T00:00:00.9Z' }, /after/],
    ['/valid_until', { valid_after: '2026-01-01T00:00:00+02:00', valid_until: '2025-12-31T21:59:59Z' }, /after/],
    ['/valid_until', { valid_until: '2001-01-01T00:00:00Z' }, /^must be in the future$/],
    ['/valid_until', { valid_after: '9999-06-01T00:00:00Z' }, /year 9999/],
    ['/valid_until', { valid_until: 'tomorrow' }, /./],
    ['/valid_until', { valid_until: 1_800_000_000 }, /must be a string/],
    ['/valid_after', { valid_after: '1969-12-31T23:59:59Z' }, /1970/],
    ['/valid_after', { valid_after: '2026-02-30T00:00:00Z' }, /./],
    [
      '/ssh_certificate_authority_id',
      { ssh_certificate_authority_id: newId('sshca') },
      /SSH certificate authority \w+ does not exist/,
    ],
    ['/ssh_certificate_authority_id', { ssh_certificate_authority_id: newId('ca') }, /sshca_/],
    ['/ssh_certificate_authority_id', { ssh_certificate_authority_id: undefined }, /is required/],
    ['/public_key', { public_key: undefined }, /is required/],
    ['/public_key', { public_key: null }, /must be a string/],
    ['/principals', { principals: 'a.example' }, /must be an array/],
    ['/principals/1', { principals: ['a.example', ''] }, /empty/],
    ['/principals/0', { principals: ['*.example.com'] }, /not support wildcards/],
    ['/principals/0', { principals: ['a_b.example'] }, /not a host name label/],
    ['/principals/0', { principals: ['a.example:22'] }, /no port/],
    ['/principals/0', { principals: ['[2001:db8::1]'] }, /no brackets/],
    ['/principals/0', { principals: ['fe80::1%eth0'] }, /not an IPv6/],
    ['/principals/0', { principals: ['300.1.1.1'] }, /neither a host name nor an IPv4/],
    ['/principals/0', { principals: ['10.0.0.0/8'] }, /not a host name label/],
    ['/principals/0', { principals: ['a,b'] }, /not a host name label/],
    ['/principals/0', { principals: ['bücher.example'] }, /xn--bcher-kva/],
    ['/principals/1', { principals: ['a.example', 'A.example'] }, /already at index 0/],
    ['/principals', { principals: Array.from({ length: MAX_PRINCIPALS + 1 }, (_, n) => `h${n}`) }, /at most 256/],
    ['/serial', { serial: 1 }, /unknown field/],
  ])('with a wrong %s is refused by name: %o', async (pointer, wrong, reason) => {
    expect((await refused(wrong))[pointer]).toMatch(reason);
  });

  test('may have as many principals as OpenSSH reads', async () => {
    const principals = Array.from({ length: MAX_PRINCIPALS }, (_, n) => `h${n}.example.com`);
    const { certificate } = await create({ principals });
    expect(readCertificate(certificate).principals).toEqual(principals);
  });

  test('of an authority whose key was tampered with is not made', async () => {
    const other = (await admin.post('/ssh_certificate_authorities', {})).as(sshCertificateAuthority.view);
    await api.rows(
      `update ssh_certificate_authorities a set private_key = b.private_key
         from ssh_certificate_authorities b where a.id = $1 and b.id = $2`,
      [other.id, authority.id],
    );
    const { error } = await admin.post(path, body({ ssh_certificate_authority_id: other.id }));
    expect(error.error_code).toBe('INTERNAL_ERROR');
  });
});
