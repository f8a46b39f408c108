import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/resources/definition/id.ts';
import { BASE, startTestApi } from '../harness.ts';
import { domainsOf, PATH } from './domains.ts';

const api = await startTestApi({ platform: { serviceDomains: ['tunnels.example', 'other.example'] } });
const { admin } = api;

const { fresh, create, get, patch } = domainsOf(admin);
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

  test('one keeps its targets when the service has other domains by now', async () => {
    const { id, cname_target } = await create();
    const later = await startTestApi({ databaseUrl: api.databaseUrl, platform: { serviceDomains: ['new.example'] } });
    const { text } = await later.admin.patch(`${PATH}/${id}`, { description: 'new' });
    expect(JSON.parse(text)).toMatchObject({ description: 'new', cname_target });
  });

  test('nobody gets a wildcard above the service', async () => {
    const deep = await startTestApi({ platform: { serviceDomains: ['tunnels.corp.example'] } });
    const { error } = await deep.admin.post(PATH, { domain: '*.corp.example' });
    expect(error.details['/domain']).toBe('contains a domain of the service');
    expect((await deep.admin.post(PATH, { domain: 'corp.example' })).status).toBe(201);
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
