/** Certificates of reserved domains: automatic ones, and such as somebody has uploaded. */
import { describe, expect, test } from 'vitest';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { tlsCertificate } from '../../../src/resources/tls-certificate.ts';
import { startTestApi } from '../harness.ts';
import { domainsOf, PATH } from './domains.ts';

const api = await startTestApi();
const { admin } = api;
const { fresh, create, get, patch } = domainsOf(admin);
const POLICY = { authority: 'letsencrypt', private_key_type: 'ecdsa' };
const NOT_STARTED = {
  renews_at: null,
  provisioning_job: { error_code: null, msg: 'waiting to be started', started_at: null, retries_at: null },
};

const made = await makeCertificate({ subject: 'CN=a.example.org' });
const certificate = async () =>
  (await admin.post('/tls_certificates', { certificate_pem: made.pem, private_key_pem: made.keyPem })).as(
    tlsCertificate.view,
  );

describe('automatic certificates of a domain', () => {
  test('are asked for with a policy; the status says that nothing has started', async () => {
    const created = await create({ certificate_management_policy: POLICY });
    expect(created).toMatchObject({
      certificate: null,
      certificate_management_policy: POLICY,
      certificate_management_status: NOT_STARTED,
    });
    expect(await get(created.id)).toEqual(created);
  });

  test('are for an RSA key unless asked otherwise', async () => {
    const { certificate_management_policy } = await create({
      certificate_management_policy: { authority: 'letsencrypt' },
    });
    expect(certificate_management_policy).toEqual({ authority: 'letsencrypt', private_key_type: 'rsa' });
  });

  test.each([
    ['/certificate_management_policy/authority', {}],
    ['/certificate_management_policy/authority', { authority: 'LetsEncrypt' }],
    ['/certificate_management_policy/authority', { authority: 'zerossl' }],
    ['/certificate_management_policy/private_key_type', { authority: 'letsencrypt', private_key_type: 'ed25519' }],
    ['/certificate_management_policy/key', { authority: 'letsencrypt', key: 'rsa' }],
    ['/certificate_management_policy', 'letsencrypt'],
  ])('a wrong %s is refused by name: %o', async (pointer, policy) => {
    const body = { domain: fresh(), certificate_management_policy: policy };
    expect((await admin.post(PATH, body)).error.details).toHaveProperty([pointer]);
    const { id } = await create();
    const patched = await admin.patch(`${PATH}/${id}`, { certificate_management_policy: policy });
    expect(patched.error.details).toHaveProperty([pointer]);
  });

  test('come from the authority that the installation names', async () => {
    const other = await startTestApi({ platform: { acmeAuthority: 'zerossl' } });
    const ask = (authority: string) =>
      other.admin.post(PATH, { domain: fresh(), certificate_management_policy: { authority } });
    expect((await ask('zerossl')).status).toBe(201);
    expect((await ask('letsencrypt')).error.details['/certificate_management_policy/authority']).toMatch(/"zerossl"/);
  });

  test('start anew when the policy changes, and end when it goes', async () => {
    const { id } = await create({ certificate_management_policy: POLICY });
    const status = { renews_at: '2027-01-01T00:00:00.000Z', provisioning_job: null };
    await api.rows('update reserved_domains set certificate_management_status = $2 where id = $1', [id, status]);
    expect((await patch(id, { certificate_management_policy: POLICY })).certificate_management_status).toEqual(status);
    expect((await patch(id, { description: 'x' })).certificate_management_status).toEqual(status);
    const changed = await patch(id, { certificate_management_policy: { authority: 'letsencrypt' } });
    expect(changed.certificate_management_status).toEqual(NOT_STARTED);
    const ended = await patch(id, { certificate_management_policy: null });
    expect(ended).toMatchObject({ certificate_management_policy: null, certificate_management_status: null });
  });

  test('are ended by detaching the policy, also when there is none', async () => {
    const { id } = await create({ certificate_management_policy: POLICY });
    const path = `${PATH}/${id}/certificate_management_policy`;
    const { etag = '' } = (await admin.get(`${PATH}/${id}`)).headers;
    expect((await admin.delete(path, { 'if-match': '"99"' })).status).toBe(412);
    expect((await admin.delete(path, { 'if-match': etag })).status).toBe(204);
    expect(await get(id)).toMatchObject({ certificate_management_policy: null, certificate_management_status: null });
    const after = (await admin.get(`${PATH}/${id}`)).headers.etag;
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(`${PATH}/${id}`)).headers.etag).toBe(after);
    expect((await admin.delete(`${PATH}/${newId('rd')}/certificate_management_policy`)).status).toBe(404);
  });
});

describe('a certificate of a domain', () => {
  test('is attached by id and shown as a Ref, from the start or later', async () => {
    const { id, uri } = await certificate();
    expect((await create({ certificate_id: id })).certificate).toEqual({ id, uri });
    const domain = await create();
    expect((await patch(domain.id, { certificate_id: id })).certificate).toEqual({ id, uri });
    expect((await patch(domain.id, { certificate_id: null })).certificate).toBeNull();
  });

  test('must exist', async () => {
    const certificate_id = newId('cert');
    const { error } = await admin.post(PATH, { domain: fresh(), certificate_id });
    expect(error.details['/certificate_id']).toBe(`TLS certificate ${certificate_id} does not exist`);
    const { id } = await create();
    expect((await admin.patch(`${PATH}/${id}`, { certificate_id })).error.details).toHaveProperty(['/certificate_id']);
    const wrong = await admin.post(PATH, { domain: fresh(), certificate_id: newId('ca') });
    expect(wrong.error.details['/certificate_id']).toMatch(/cert_/);
  });

  test('is detached, also when there is none', async () => {
    const { id: certificate_id } = await certificate();
    const { id } = await create({ certificate_id });
    expect((await admin.delete(`/tls_certificates/${certificate_id}`)).error).toMatchObject({
      error_code: 'RESOURCE_IN_USE',
      details: { reserved_domain: id },
    });
    expect((await admin.delete(`${PATH}/${id}/certificate`)).status).toBe(204);
    expect((await get(id)).certificate).toBeNull();
    expect((await admin.delete(`${PATH}/${id}/certificate`)).status).toBe(204);
    expect((await admin.delete(`/tls_certificates/${certificate_id}`)).status).toBe(204);
    expect((await admin.delete(`${PATH}/${newId('rd')}/certificate`)).status).toBe(404);
  });

  test('excludes automatic certificates: on create, on update, and across both', async () => {
    const { id: certificate_id } = await certificate();
    const both = { certificate_id, certificate_management_policy: POLICY };
    const pointers = ['/certificate_id', '/certificate_management_policy'];
    const created = (await admin.post(PATH, { domain: fresh(), ...both })).error;
    expect(created.error_code).toBe('INVALID_REQUEST');
    expect(Object.keys(created.details)).toEqual(expect.arrayContaining(pointers));

    const bare = await create();
    const updated = (await admin.patch(`${PATH}/${bare.id}`, both)).error;
    expect(Object.keys(updated.details)).toEqual(expect.arrayContaining(pointers));

    const managed = await create({ certificate_management_policy: POLICY });
    const second = (await admin.patch(`${PATH}/${managed.id}`, { certificate_id })).error;
    expect(second.details['/certificate_id']).toMatch(/cannot be combined/);
    const uploaded = await create({ certificate_id });
    const third = (await admin.patch(`${PATH}/${uploaded.id}`, { certificate_management_policy: POLICY })).error;
    expect(third.details['/certificate_management_policy']).toMatch(/cannot be combined/);

    const swapped = await patch(managed.id, { certificate_id, certificate_management_policy: null });
    expect(swapped).toMatchObject({ certificate: { id: certificate_id }, certificate_management_status: null });
    const back = await patch(managed.id, { certificate_id: null, certificate_management_policy: POLICY });
    expect(back).toMatchObject({ certificate: null, certificate_management_status: NOT_STARTED });
  });

  test('that was issued does not stand in the way of other changes', async () => {
    const { id: certificate_id } = await certificate();
    const { id } = await create({ certificate_management_policy: POLICY });
    await api.rows('update reserved_domains set certificate_id = $2 where id = $1', [id, certificate_id]);
    const shown = await patch(id, { description: 'x', certificate_management_policy: { authority: 'letsencrypt' } });
    expect(shown.certificate?.id).toBe(certificate_id);
  });
});
