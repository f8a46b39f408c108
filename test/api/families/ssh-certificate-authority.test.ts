import { createHook } from 'node:async_hooks';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { sshPublicOf } from '../../../src/api/ssh/keys.ts';
import { parseSshPublicKey } from '../../../src/resources/formats/ssh-public-key.ts';
import { sshCertificateAuthority } from '../../../src/resources/ssh-certificate-authority.ts';
import { sshHostCertificate } from '../../../src/resources/ssh-host-certificate.ts';
import { startTestApi } from '../harness.ts';

const secrets = createSecrets([{ id: 'k', bytes: Buffer.alloc(32, 1) }]);
const api = await startTestApi({ secrets });
const { admin } = api;
const path = '/ssh_certificate_authorities';

const create = async (body: object = {}) => (await admin.post(path, body)).as(sshCertificateAuthority.view);

async function privateKeyOf(id: string) {
  const [row] = await api.rows('select private_key from ssh_certificate_authorities where id = $1', [id]);
  const [table, field] = [sshCertificateAuthority.table, 'private_key'];
  return createPrivateKey(secrets.open(z.string().parse(row?.private_key), { table, id, field }));
}

/** How many key pairs this process generates until the end is told, and how many of them at once. */
function countGenerating() {
  const running = new Set<number>();
  let [all, most] = [0, 0];
  const hook = createHook({
    init(id, type) {
      if (type !== 'KEYPAIRGENREQUEST') return;
      all++;
      most = Math.max(most, running.add(id).size);
    },
    after: (id) => void running.delete(id),
  }).enable();
  const end = () => {
    hook.disable();
    return { all, most };
  };
  return { end };
}

describe('an SSH certificate authority', () => {
  test.each([
    [{}, { private_key_type: 'ed25519', elliptic_curve: null }, 'ssh-ed25519'],
    [{ private_key_type: null, elliptic_curve: null }, { private_key_type: 'ed25519' }, 'ssh-ed25519'],
    [{ private_key_type: 'ed25519' }, { private_key_type: 'ed25519', elliptic_curve: null }, 'ssh-ed25519'],
    [{ private_key_type: 'ecdsa' }, { elliptic_curve: 'nistp256' }, 'ecdsa-sha2-nistp256'],
    [{ private_key_type: 'ecdsa', elliptic_curve: 'nistp384' }, { elliptic_curve: 'nistp384' }, 'ecdsa-sha2-nistp384'],
    [{ private_key_type: 'ecdsa', elliptic_curve: 'nistp521' }, { elliptic_curve: 'nistp521' }, 'ecdsa-sha2-nistp521'],
    [{ private_key_type: 'rsa' }, { private_key_type: 'rsa', elliptic_curve: null }, 'ssh-rsa'],
  ])('from %o has a key as asked for, of which it shows the public half', async (asked, shown, algorithm) => {
    const sent = { ...asked, description: 'd', metadata: 'm' };
    const reply = await admin.post(path, sent);
    const authority = reply.as(sshCertificateAuthority.view);
    expect(authority).toMatchObject({ ...shown, description: 'd', metadata: 'm' });
    expect(authority.id).toMatch(/^sshca_/);
    expect(authority.key_type).toBe(authority.private_key_type);
    expect(authority.public_key.split(' ')).toEqual([algorithm, expect.any(String)]);
    expect(parseSshPublicKey(authority.public_key)).toMatchObject({ key: { keyType: authority.key_type } });

    const key = await privateKeyOf(authority.id);
    expect(sshPublicOf(key).blob.toString('base64')).toBe(authority.public_key.split(' ')[1]);
    if (algorithm === 'ssh-rsa') expect(createPublicKey(key).asymmetricKeyDetails?.modulusLength).toBe(4096);
    expect(reply.text).not.toMatch(/PRIVATE|"private_key"/);
    expect((await admin.get(`${path}/${authority.id}`)).as(sshCertificateAuthority.view)).toEqual(authority);
  });

  test('changes in description and metadata alone', async () => {
    const authority = await create();
    const changed = await admin.patch(`${path}/${authority.id}`, { description: 'new' });
    expect(changed.as(sshCertificateAuthority.view)).toEqual({ ...authority, description: 'new' });
    const reasons = {
      private_key_type: 'cannot be changed',
      elliptic_curve: 'cannot be changed',
      public_key: 'is set by the service',
      key_type: 'is set by the service',
      private_key: 'unknown field',
    };
    for (const [field, reason] of Object.entries(reasons)) {
      const { error } = await admin.patch(`${path}/${authority.id}`, { [field]: 'rsa' });
      expect(error.details[`/${field}`]).toBe(reason);
    }
  });

  test.each([
    ['/private_key_type', { private_key_type: 'dsa' }, /"rsa", "ecdsa" or "ed25519"/],
    ['/private_key_type', { private_key_type: 4096 }, /./],
    ['/elliptic_curve', { private_key_type: 'ecdsa', elliptic_curve: 'secp256k1' }, /nistp256/],
    ['/elliptic_curve', { private_key_type: 'rsa', elliptic_curve: 'nistp256' }, /only to private_key_type ecdsa/],
    ['/elliptic_curve', { elliptic_curve: 'nistp256' }, /not to ed25519/],
    ['/public_key', { public_key: 'ssh-ed25519 AAAA' }, /is set by the service/],
    ['/private_key', { private_key: 'x' }, /unknown field/],
  ])('a wrong %s is refused by name: %o', async (pointer, body, reason) => {
    const { error } = await admin.post(path, body);
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details[pointer]).toMatch(reason);
  });

  test('is made once under an idempotency key, and no key is generated for a replay', async () => {
    const headers = { 'idempotency-key': 'ca-1' };
    let sealed = 0;
    const counting = {
      ...secrets,
      seal(...args: Parameters<typeof secrets.seal>) {
        sealed++;
        return secrets.seal(...args);
      },
    };
    const other = await startTestApi({ secrets: counting, databaseUrl: api.databaseUrl });
    const first = await other.admin.post(path, { private_key_type: 'rsa' }, headers);
    const before = sealed;
    const again = await other.admin.post(path, { private_key_type: 'rsa' }, headers);
    expect(again).toMatchObject({ status: 201, text: first.text });
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(sealed).toBe(before);
    const reused = await other.admin.post(path, { private_key_type: 'ecdsa' }, headers);
    expect(reused.error.error_code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(sealed).toBe(before);
  });

  test('is one, however many ask for it under one key at once', async () => {
    const headers = { 'idempotency-key': 'ca-2' };
    const replies = await Promise.all(Array.from({ length: 8 }, () => admin.post(path, {}, headers)));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  });

  test('lets other requests of the same key be served while RSA keys are generated, however many', async () => {
    // Of so small a pool, one key has two connections at a time.
    const { admin } = await startTestApi({ secrets, poolSize: 4 });
    const generating = countGenerating();
    const making = Array.from({ length: 3 }, () => admin.post(path, { private_key_type: 'rsa' }));
    const made = Promise.race(making).then(() => 'made');
    const served = admin.get('/ip_policies').then(() => 'served');
    expect(await Promise.race([made, served])).toBe('served');
    expect((await Promise.all(making)).map(({ status }) => status)).toEqual([201, 201, 201]);
    // One after the other, so that nobody takes all places.
    expect(generating.end()).toEqual({ all: 3, most: 1 });
  });

  test('does not keep that of another owner waiting, however many there are', async () => {
    const { admin, newUser } = await startTestApi({ secrets });
    const other = await newUser({ admin: true });
    const made: string[] = [];
    const make = async (caller: typeof admin) => {
      expect((await caller.post(path, { private_key_type: 'rsa' })).status).toBe(201);
      made.push(caller.id);
    };
    // More than may be made and wait at once.
    await Promise.all([...Array.from({ length: 11 }, () => make(admin)), make(other)]);
    expect(made).toHaveLength(12);
    expect(made.at(-1)).toBe(admin.id);
  });

  test('cannot be made by a service without an encryption key, which says so', async () => {
    const bare = await startTestApi({ secrets: createSecrets(undefined) });
    const { error } = await bare.admin.post(path, {});
    expect(error).toMatchObject({ error_code: 'UNAVAILABLE', msg: expect.stringMatching(/ENCRYPTION_KEY/) });
  });
});

describe('deleting an SSH certificate authority', () => {
  const key = async () => (await create()).public_key;

  test('is refused while certificates of it exist, which it names', async () => {
    const { id } = await create();
    const body = { ssh_certificate_authority_id: id, public_key: await key() };
    const certificate = (await admin.post('/ssh_host_certificates', body)).as(sshHostCertificate.view);
    const { error } = await admin.delete(`${path}/${id}`);
    expect(error.error_code).toBe('RESOURCE_IN_USE');
    expect(error.details.ssh_host_certificate).toBe(certificate.id);
    expect(error.msg).toContain(certificate.id);
    await admin.delete(`/ssh_host_certificates/${certificate.id}`);
    expect((await admin.delete(`${path}/${id}`)).status).toBe(204);
  });

  test('and signing by it at the same time ends with both or with none', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await create();
      const body = { ssh_certificate_authority_id: id, public_key: await key() };
      const [deleted, signed] = await Promise.all([
        admin.delete(`${path}/${id}`),
        admin.post('/ssh_host_certificates', body),
      ]);
      expect([deleted.status, signed.status]).toEqual(deleted.status === 204 ? [204, 400] : [409, 201]);
      if (signed.status === 400)
        expect(signed.error.details['/ssh_certificate_authority_id']).toMatch(/does not exist/);
    }
  });
});

test('the private key is nowhere but sealed in its column', async () => {
  const ids = [await create(), await create({ private_key_type: 'ecdsa' })].map(({ id }) => id);
  const pems = await Promise.all(
    ids.map(async (id) => (await privateKeyOf(id)).export({ type: 'pkcs8', format: 'pem' })),
  );
  const jwks = await Promise.all(ids.map(async (id) => (await privateKeyOf(id)).export({ format: 'jwk' }).d));
  const body = { ssh_certificate_authority_id: ids[0], public_key: (await create()).public_key };
  await admin.post('/ssh_host_certificates', body, { 'idempotency-key': 'x' });
  await api.rows('alter table events add constraint broken check (false) not valid');
  for (const path of ['/ssh_certificate_authorities', '/ssh_host_certificates']) {
    expect((await admin.post(path, path.includes('host') ? body : {})).status).toBe(500);
  }
  await api.rows('alter table events drop constraint broken');
  const tables = await api.rows("select tablename from pg_tables where schemaname = 'public'");
  const dumps = await Promise.all(tables.map(({ tablename }) => api.rows(`select t::text from "${tablename}" t`)));
  const everything = JSON.stringify(dumps) + api.logs.join('\n');
  const secretsOf = [
    ...pems.flatMap((pem) =>
      String(pem)
        .split('\n')
        .filter((line) => line.length > 40),
    ),
    ...jwks,
  ];
  expect(secretsOf.length).toBeGreaterThan(4);
  for (const secret of secretsOf) expect(everything).not.toContain(secret);
});
