import { describe, expect, test } from 'vitest';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { tlsCertificate } from '../../../src/resources/tls-certificate.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi({ platform: { serviceDomains: ['tunnels.example', 'other.example'] } });
const { admin } = api;
const PATH = '/reserved_domains';
const POLICY = { authority: 'letsencrypt', private_key_type: 'ecdsa' };
const NOT_STARTED = {
  renews_at: null,
  provisioning_job: { error_code: null, msg: 'waiting to be started', started_at: null, retries_at: null },
};

let count = 0;
const fresh = () => `d${++count}.example.org`;
const create = async (body: object = {}) =>
  (await admin.post(PATH, { domain: fresh(), ...body })).as(reservedDomain.view);
const get = async (id: string) => (await admin.get(`${PATH}/${id}`)).as(reservedDomain.view);
const patch = async (id: string, body: object) => (await admin.patch(`${PATH}/${id}`, body)).as(reservedDomain.view);
const made = await makeCertificate({ subject: 'CN=a.example.org' });
const certificate = async () =>
  (await admin.post('/tls_certificates', { certificate_pem: made.pem, private_key_pem: made.keyPem })).as(
    tlsCertificate.view,
  );
const configuration = async (type: string) => {
  const { id, uri } = JSON.parse((await admin.post('/endpoint_configurations', { type })).text);
  return { id: String(id), uri: String(uri) };
};

describe('a reserved domain', () => {
  test('is created, shown, listed, changed and deleted', async () => {
    const created = await create({ domain: 'app.example.org', region: 'eu', description: 'd', metadata: 'm' });
    const { id } = created;
    expect(created).toEqual({
      id,
      uri: `${BASE}${PATH}/${id}`,
      created_at: created.created_at,
      description: 'd',
      metadata: 'm',
      domain: 'app.example.org',
      region: 'eu',
      cname_target: `${id.slice(3)}.cname.tunnels.example`,
      certificate: null,
      certificate_management_policy: null,
      certificate_management_status: null,
      acme_challenge_cname_target: null,
      http_endpoint_configuration: null,
      https_endpoint_configuration: null,
    });
    expect(id).toMatch(/^rd_/);
    expect(await get(id)).toEqual(created);
    expect(JSON.parse((await admin.get(PATH)).text).reserved_domains).toEqual([created]);
    expect(await patch(id, { description: 'x', metadata: null })).toEqual({
      ...created,
      description: 'x',
      metadata: null,
    });
    expect((await admin.delete(`${PATH}/${id}`)).status).toBe(204);
    expect((await admin.get(`${PATH}/${id}`)).status).toBe(404);
    expect((await create({ domain: 'app.example.org' })).id).not.toBe(id);
  });

  test.each([
    ['Caps.Example.ORG', 'caps.example.org'],
    ['bücher.example.org', 'xn--bcher-kva.example.org'],
    ['BÜCHER.Example.net', 'xn--bcher-kva.example.net'],
    ['xn--bcher-kva.example.com', 'xn--bcher-kva.example.com'],
    ['xn--zca.example.com', 'xn--zca.example.com'],
    ['*.Wild.example.org', '*.wild.example.org'],
    ['*.bücher.example.org', '*.xn--bcher-kva.example.org'],
    [`${'a'.repeat(63)}.example.org`, `${'a'.repeat(63)}.example.org`],
    ['1.2.3.example', '1.2.3.example'],
  ])('shows %s as %s', async (domain, shown) => {
    expect((await create({ domain })).domain).toBe(shown);
  });

  test.each([
    ['', /empty/],
    ['localhost', /two labels/],
    ['*', /\*/],
    ['*.example', /two labels/],
    ['a.*.example.org', /leftmost/],
    ['*.*.example.org', /leftmost/],
    ['*a.example.org', /leftmost/],
    ['a..example.org', /empty label/],
    ['example.org.', /empty label/],
    ['.example.org', /empty label/],
    ['-a.example.org', /label/],
    ['a_b.example.org', /label/],
    ['a b.example.org', /label/],
    ['a.example.org:443', /label/],
    ['https://a.example.org', /label/],
    [`${'a'.repeat(64)}.example.org`, /at most 63/],
    [`${'a.'.repeat(127)}org`, /253/],
    ['xn--a.example.org', /internationalised/],
    ['XN--a-ecp.example.org', /internationalised/],
    ['bücher.example.org/x', /internationalised/],
    ['bücher.example.org:443', /internationalised/],
    ['bücher.example.org?x', /internationalised/],
    ['bücher.example.org#x', /internationalised/],
    ['bücher@evil.example.org', /internationalised/],
    ['bü\tcher.example.org', /internationalised/],
    ['bücher%2fx.example.org', /internationalised/],
    ['bücher／x.example.org', /internationalised/],
    ['192.0.2.1', /IP address/],
    ['１９２.0.2.1', /IP address/],
    ['0x7f.0x1', /IP address/],
  ])('may not be "%s"', async (domain, reason) => {
    const { error } = await admin.post(PATH, { domain });
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details['/domain']).toMatch(reason);
  });

  test('exists once, however it is written', async () => {
    const { id } = await create({ domain: 'once.example.org' });
    const { error } = await admin.post(PATH, { domain: 'ONCE.example.ORG' });
    expect(error).toMatchObject({ error_code: 'CONFLICT', status_code: 409 });
    expect(error.details['/domain']).toContain(id);
    expect((await create({ domain: '*.once.example.org' })).id).not.toBe(id);
    const both = await Promise.all([1, 2].map(() => admin.post(PATH, { domain: 'race.example.org' })));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  test('keeps its domain and region', async () => {
    const { id } = await create();
    const { error } = await admin.patch(`${PATH}/${id}`, { domain: fresh(), region: 'us' });
    expect(Object.keys(error.details)).toEqual(expect.arrayContaining(['/domain', '/region']));
  });

  test.each(['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa', null])('may be in the region %s', async (region) => {
    expect((await create({ region })).region).toBe(region);
  });

  test('has no other region', async () => {
    expect((await admin.post(PATH, { domain: fresh(), region: 'mars' })).error.details).toHaveProperty(['/region']);
  });

  test('has its limits in bytes', async () => {
    const body = { domain: fresh(), description: 'é'.repeat(128), metadata: 'x'.repeat(4097) };
    const { error } = await admin.post(PATH, body);
    expect(Object.keys(error.details)).toEqual(expect.arrayContaining(['/description', '/metadata']));
  });
});

describe('the CNAME targets of a domain', () => {
  test.each([
    ['custom.example.org', true, false],
    ['*.custom.example.org', true, true],
    ['app.tunnels.example', false, false],
    ['*.app.tunnels.example', false, false],
    ['a.b.other.example', false, false],
    ['nottunnels.example', true, false],
  ])('%s: cname_target %s, acme_challenge_cname_target %s', async (domain, cname, challenge) => {
    const made = await create({ domain });
    const label = made.id.slice(3);
    expect(made.cname_target).toBe(cname ? `${label}.cname.tunnels.example` : null);
    expect(made.acme_challenge_cname_target).toBe(challenge ? `${label}.acme.tunnels.example` : null);
  });

  test.each([
    'tunnels.example',
    'Tunnels.Example',
    '*.tunnels.example',
    'other.example',
    'cname.tunnels.example',
    'x.cname.tunnels.example',
    '*.acme.tunnels.example',
  ])('the service keeps %s for itself', async (domain) => {
    expect((await admin.post(PATH, { domain })).error.details['/domain']).toMatch(/belongs to the service/);
  });

  test('nobody gets a wildcard above the service', async () => {
    const deep = await startTestApi({ platform: { serviceDomains: ['tunnels.corp.example'] } });
    const { error } = await deep.admin.post(PATH, { domain: '*.corp.example' });
    expect(error.details['/domain']).toBe('contains a domain of the service');
    expect((await deep.admin.post(PATH, { domain: 'corp.example' })).status).toBe(201);
  });
});

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

describe('endpoint configurations of a domain', () => {
  test.each(['http', 'https'] as const)('%s: bound by id, shown as a Ref, and of that type', async (scheme) => {
    const field = `${scheme}_endpoint_configuration` as const;
    const [right, wrong] = [await configuration(scheme), await configuration(scheme === 'http' ? 'https' : 'http')];
    const { id } = await create();
    expect((await patch(id, { [`${field}_id`]: right.id }))[field]).toEqual(right);
    const { error } = await admin.patch(`${PATH}/${id}`, { [`${field}_id`]: wrong.id });
    expect(error.details[`/${field}_id`]).toMatch(new RegExp(`must be of type ${scheme};`));
    const unknown = await admin.patch(`${PATH}/${id}`, { [`${field}_id`]: newId('ec') });
    expect(unknown.error.details[`/${field}_id`]).toMatch(/endpoint configuration \w+ does not exist/);
    expect((await admin.delete(`/endpoint_configurations/${right.id}`)).error).toMatchObject({
      error_code: 'RESOURCE_IN_USE',
      details: { reserved_domain: id },
    });
    expect((await patch(id, { [`${field}_id`]: null }))[field]).toBeNull();
    expect((await admin.delete(`/endpoint_configurations/${right.id}`)).status).toBe(204);
  });

  test('are bound after the domain is there, not with it', async () => {
    const { id } = await configuration('http');
    const { error } = await admin.post(PATH, { domain: fresh(), http_endpoint_configuration_id: id });
    expect(error.details['/http_endpoint_configuration_id']).toBe('cannot be set on create; set it by PATCH');
  });

  test('are free again when the domain is gone', async () => {
    const { id } = await configuration('https');
    const domain = await create();
    await patch(domain.id, { https_endpoint_configuration_id: id });
    await admin.delete(`${PATH}/${domain.id}`);
    expect((await admin.delete(`/endpoint_configurations/${id}`)).status).toBe(204);
  });
});
