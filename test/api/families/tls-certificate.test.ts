/** The private key of a TLS certificate; test/api/certificates tests which chains and keys are accepted. */
import { createPrivateKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { tlsCertificate } from '../../../src/resources/tls-certificate.ts';
import { startTestApi } from '../harness.ts';

const secrets = createSecrets([{ id: 'k', bytes: Buffer.alloc(32, 1) }]);
const api = await startTestApi({ secrets });
const { admin } = api;
const path = '/tls_certificates';

const made = await makeCertificate({ algorithm: 'ecdsa' });
const other = await makeCertificate({ algorithm: 'ecdsa' });
const sent = { certificate_pem: made.pem, private_key_pem: made.keyPem };
const create = async () => (await admin.post(path, sent)).as(tlsCertificate.view).id;

test('the key is sealed for its row and column', async () => {
  const id = await create();
  const [row] = await api.rows('select private_key from tls_certificates where id = $1', [id]);
  const opened = secrets.open(String(row?.private_key), { table: tlsCertificate.table, id, field: 'private_key' });
  expect(createPrivateKey(opened).equals(createPrivateKey(made.keyPem))).toBe(true);
});

test('an update may repeat the key, in any form, but not replace it', async () => {
  const id = await create();
  const sec1 = createPrivateKey(made.keyPem).export({ type: 'sec1', format: 'pem' }).toString();
  for (const private_key_pem of [made.keyPem, `${made.keyPem}\n`, sec1]) {
    expect((await admin.patch(`${path}/${id}`, { ...sent, private_key_pem })).status).toBe(200);
  }
  const tooLong = `${'\n'.repeat(64 * 1024)}${made.keyPem}`;
  for (const private_key_pem of [other.keyPem, '-----BEGIN PRIVATE KEY-----', tooLong, 1, {}]) {
    const { error } = await admin.patch(`${path}/${id}`, { ...sent, private_key_pem });
    const { request_id: _, ...details } = error.details;
    expect(details).toEqual({ '/private_key_pem': 'cannot be changed' });
  }
});
