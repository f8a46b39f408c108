/** Certificates of reserved domains; conformance tests that a policy and an uploaded certificate exclude each other. */
import { expect, test } from 'vitest';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const PATH = '/reserved_domains';
const POLICY = { authority: 'letsencrypt', private_key_type: 'ecdsa' };

let count = 0;
const fresh = () => `d${++count}.example.org`;
const create = async (body: object = {}) =>
  (await admin.post(PATH, { domain: fresh(), ...body })).as(reservedDomain.view);
const patch = async (id: string, body: object) => (await admin.patch(`${PATH}/${id}`, body)).as(reservedDomain.view);

async function certificate(): Promise<string> {
  const { pem, keyPem } = await makeCertificate({ names: [{ type: 'dns', value: '*.example.org' }] });
  const reply = await admin.post('/tls_certificates', { certificate_pem: pem, private_key_pem: keyPem });
  return JSON.parse(reply.text).id;
}

test('automatic certificates come only from the configured authority', async () => {
  const other = await startTestApi({ platform: { acmeAuthority: 'zerossl' } });
  const ask = (authority: string) =>
    other.admin.post(PATH, { domain: fresh(), certificate_management_policy: { authority } });
  expect((await ask('zerossl')).status).toBe(201);
  expect((await ask('letsencrypt')).error.details['/certificate_management_policy/authority']).toMatch(/"zerossl"/);
});

test('the status stays while the policy is unchanged, and is reset by another policy', async () => {
  const { id } = await create({ certificate_management_policy: POLICY });
  const status = { renews_at: '2027-01-01T00:00:00.000Z', provisioning_job: null };
  await api.rows('update reserved_domains set certificate_management_status = $2 where id = $1', [id, status]);
  expect((await patch(id, { certificate_management_policy: POLICY })).certificate_management_status).toEqual(status);
  expect((await patch(id, { description: 'x' })).certificate_management_status).toEqual(status);
  const changed = await patch(id, { certificate_management_policy: { authority: 'letsencrypt' } });
  expect(changed.certificate_management_status).toMatchObject({
    renews_at: null,
    provisioning_job: { msg: 'waiting to be started' },
  });
});

test.each(['certificate_management_policy', 'certificate'] as const)(
  'a %s is detached at the revision in If-Match, and detaching it again has no effect',
  async (what) => {
    const made = what === 'certificate' ? { certificate_id: await certificate() } : { [what]: POLICY };
    const { id } = await create(made);
    const path = `${PATH}/${id}/${what}`;
    expect((await admin.delete(path, { 'if-match': '"99"' })).status).toBe(412);
    expect((await admin.delete(path, { 'if-match': '"1"' })).status).toBe(204);
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(`${PATH}/${id}`)).headers.etag).toBe('"2"');
    expect((await admin.delete(`${PATH}/${newId('rd')}/${what}`)).status).toBe(404);
  },
);

test('an issued certificate does not prevent other changes', async () => {
  const certificate_id = await certificate();
  const { id } = await create({ certificate_management_policy: POLICY });
  await api.rows('update reserved_domains set certificate_id = $2 where id = $1', [id, certificate_id]);
  const shown = await patch(id, { description: 'x', certificate_management_policy: { authority: 'letsencrypt' } });
  expect(shown.certificate?.id).toBe(certificate_id);
});
