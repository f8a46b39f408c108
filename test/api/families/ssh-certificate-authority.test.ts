import { createHook } from 'node:async_hooks';
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { sshPublicOf } from '../../../src/api/ssh/keys.ts';
import { sshCertificateAuthority } from '../../../src/resources/ssh-certificate-authority.ts';
import { startTestApi } from '../harness.ts';

const secrets = createSecrets([{ id: 'k', bytes: Buffer.alloc(32, 1) }]);
const api = await startTestApi({ secrets });
const path = '/ssh_certificate_authorities';

async function privateKeyOf(id: string): Promise<KeyObject> {
  const [row] = await api.rows('select private_key from ssh_certificate_authorities where id = $1', [id]);
  const location = { table: sshCertificateAuthority.table, id, field: 'private_key' };
  return createPrivateKey(secrets.open(String(row?.private_key), location));
}

/** Counts the key pairs that this process generates until `end`: in all, and at most at once. */
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
  return {
    end() {
      hook.disable();
      return { all, most };
    },
  };
}

test.each([
  { private_key_type: 'ed25519' },
  { private_key_type: 'ecdsa', elliptic_curve: 'nistp384' },
  { private_key_type: 'rsa' },
])('the sealed private key of %o matches the public key', async (asked) => {
  const { id, public_key } = (await api.admin.post(path, asked)).as(sshCertificateAuthority.view);
  const key = await privateKeyOf(id);
  expect(sshPublicOf(key).blob.toString('base64')).toBe(public_key.split(' ')[1]);
  if (asked.private_key_type === 'rsa') expect(createPublicKey(key).asymmetricKeyDetails?.modulusLength).toBe(4096);
});

test('a replay generates no key', async () => {
  const headers = { 'idempotency-key': 'ca-1' };
  const first = await api.admin.post(path, {}, headers);
  const generating = countGenerating();
  expect(await api.admin.post(path, {}, headers)).toMatchObject({ status: 201, text: first.text });
  const reused = await api.admin.post(path, { private_key_type: 'ecdsa' }, headers);
  expect(reused.error.error_code).toBe('IDEMPOTENCY_KEY_REUSED');
  expect(generating.end().all).toBe(0);
});

test('RSA keys for one API key are generated one at a time, while its other requests are served', async () => {
  // In a pool this small, each key may use two connections at a time.
  const { admin } = await startTestApi({ secrets, poolSize: 4 });
  const generating = countGenerating();
  const making = Array.from({ length: 3 }, () => admin.post(path, { private_key_type: 'rsa' }));
  const made = Promise.race(making).then(() => 'made');
  const served = admin.get('/ip_policies').then(() => 'served');
  expect(await Promise.race([made, served])).toBe('served');
  expect((await Promise.all(making)).map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(generating.end()).toEqual({ all: 3, most: 1 });
});
