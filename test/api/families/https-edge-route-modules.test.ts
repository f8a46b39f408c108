import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SEALED } from '../../../src/api/families/all.ts';
import { rotateEncryption } from '../../../src/api/secrets/rotation.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { httpsEdgeRouteOauth } from '../../../src/resources/https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from '../../../src/resources/https-edge-route-oidc.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const withId = z.looseObject({ id: z.string() });
const edge = (await admin.post('/edges/https', {})).as(withId).id;

let count = 0;
let route = '';
let routeId = '';
beforeEach(async () => {
  const body = { match: `/${++count}`, match_type: 'path_prefix' };
  routeId = (await admin.post(`/edges/https/${edge}/routes`, body)).as(withId).id;
  route = `/edges/https/${edge}/routes/${routeId}`;
});

const CLIENT = { client_id: 'my-id', client_secret: 'hush-5a0e-secret' };
const OIDC = { issuer: 'https://accounts.example.com', ...CLIENT, scopes: ['openid', 'email'] };
const SESSION = {
  enabled: false,
  options_passthrough: true,
  cookie_prefix: 'acme.',
  inactivity_timeout: 4_294_967_295,
  maximum_duration: 1,
};
const DEFAULTS = {
  enabled: true,
  options_passthrough: false,
  cookie_prefix: '',
  inactivity_timeout: 0,
  maximum_duration: 0,
};

const putOidc = (body: object) => admin.put(`${route}/oidc`, body);
const putOauth = (body: object) => admin.put(`${route}/oauth`, body);
const putProvider = (provider: unknown) => putOauth({ provider });

describe('the OIDC module of a route', () => {
  test('shows all that was put', async () => {
    expect((await admin.get(`${route}/oidc`)).error).toMatchObject({
      error_code: 'NOT_FOUND',
      details: { id: routeId, module: 'oidc' },
    });
    const put = await putOidc({ ...SESSION, ...OIDC });
    expect(JSON.parse(put.text)).toEqual({ ...SESSION, ...OIDC });
    expect(JSON.parse((await admin.get(`${route}/oidc`)).text)).toEqual({ ...SESSION, ...OIDC });
    expect((await admin.delete(`${route}/oidc`)).status).toBe(204);
    expect((await admin.get(`${route}/oidc`)).status).toBe(404);
    expect((await admin.delete(`${route}/oidc`)).status).toBe(404);
  });

  test('is replaced as a whole: what is left out gets its default', async () => {
    await putOidc({ ...SESSION, ...OIDC });
    const { scopes, ...needed } = OIDC;
    expect((await putOidc(needed)).as(httpsEdgeRouteOidc.view)).toEqual({ ...DEFAULTS, ...needed, scopes: [] });
    const nulls = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, null]));
    expect((await putOidc({ ...OIDC, ...nulls })).as(httpsEdgeRouteOidc.view)).toEqual({ ...DEFAULTS, ...OIDC });
  });

  test.each([
    ['/issuer', { issuer: undefined }, /is required/],
    ['/issuer', { issuer: 'http://accounts.example.com' }, /https/],
    ['/issuer', { issuer: 'accounts.example.com' }, /https/],
    ['/issuer', { issuer: 'https://accounts.example.com?x=1' }, /query/],
    ['/issuer', { issuer: 'https://accounts.example.com/#x' }, /fragment/],
    ['/issuer', { issuer: 'https://a:b@accounts.example.com' }, /password/],
    ['/issuer', { issuer: `https://accounts.example.com/${'x'.repeat(2048)}` }, /2048/],
    ['/client_id', { client_id: undefined }, /is required/],
    ['/client_id', { client_id: '' }, /empty/],
    ['/client_id', { client_id: null }, /string/],
    ['/client_secret', { client_secret: undefined }, /is required/],
    ['/client_secret', { client_secret: '' }, /empty/],
    ['/client_secret', { client_secret: 'x'.repeat(4097) }, /4096/],
    ['/scopes', { scopes: 'openid' }, /array/],
    ['/scopes/0', { scopes: ['two words'] }, /single scope/],
    ['/scopes/1', { scopes: ['openid', 'openid'] }, /already/],
    ['/scopes', { scopes: Array.from({ length: 251 }, (_, n) => `s${n}`) }, /250/],
    ['/inactivity_timeout', { inactivity_timeout: -1 }, /0 to 4294967295/],
    ['/inactivity_timeout', { inactivity_timeout: 4_294_967_296 }, /0 to 4294967295/],
    ['/maximum_duration', { maximum_duration: 1.5 }, /whole number/],
    ['/maximum_duration', { maximum_duration: '60' }, /number/],
    ['/cookie_prefix', { cookie_prefix: 'a b' }, /cookie name/],
    ['/cookie_prefix', { cookie_prefix: 'a;b' }, /cookie name/],
    ['/cookie_prefix', { cookie_prefix: 'x'.repeat(65) }, /at most 64/],
    ['/enabled', { enabled: 1 }, /boolean/],
    ['/options_passthrough', { options_passthrough: 'no' }, /boolean/],
    ['/provider', { provider: {} }, /unknown field/],
  ])('a wrong %s is refused by name: %o', async (pointer, wrong, reason) => {
    const { error } = await putOidc({ ...OIDC, ...wrong });
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details[pointer]).toMatch(reason);
    expect((await admin.get(`${route}/oidc`)).status).toBe(404);
  });
});

const GENERIC = ['facebook', 'microsoft', 'google', 'linkedin', 'gitlab', 'twitch', 'amazon'] as const;
const UNUSED = Object.fromEntries(['github', ...GENERIC].map((name) => [name, null]));
const LISTS = { email_addresses: ['ada@example.com'], email_domains: ['example.org'] };
const MANAGED = { client_id: null, client_secret: null, scopes: [], email_addresses: [], email_domains: [] };

describe('the OAuth module of a route', () => {
  test('shows all that was put, and can be deleted', async () => {
    expect((await admin.get(`${route}/oauth`)).status).toBe(404);
    const github = { ...CLIENT, scopes: ['user'], ...LISTS, teams: ['acme/admins'], organizations: ['acme'] };
    const body = { ...SESSION, auth_check_interval: 600, provider: { github } };
    const shown = { ...body, provider: { ...UNUSED, github } };
    expect(JSON.parse((await putOauth(body)).text)).toEqual(shown);
    expect(JSON.parse((await admin.get(`${route}/oauth`)).text)).toEqual(shown);
    const again = await putProvider({ google: {} });
    expect(JSON.parse(again.text)).toEqual({
      ...DEFAULTS,
      auth_check_interval: 0,
      provider: { ...UNUSED, google: MANAGED },
    });
    expect((await admin.delete(`${route}/oauth`)).status).toBe(204);
    expect((await admin.get(`${route}/oauth`)).status).toBe(404);
  });

  test.each(GENERIC)('shows the provider %s, and null for the other seven', async (name) => {
    const own = { ...CLIENT, scopes: ['email'], ...LISTS };
    const { provider } = (await putProvider({ [name]: own })).as(httpsEdgeRouteOauth.view);
    expect(provider).toEqual({ ...UNUSED, [name]: own });
    expect((await putProvider({ [name]: { teams: ['a/b'] } })).error.details).toHaveProperty([
      `/provider/${name}/teams`,
    ]);
  });

  test('may be put back as it was read', async () => {
    const first = await putProvider({ gitlab: { ...CLIENT, scopes: ['email'] } });
    const { etag } = first.headers;
    const again = await putOauth(JSON.parse(first.text));
    expect(again.text).toBe(first.text);
    expect(again.headers.etag).toBe(etag);
  });

  test('takes everyone whom the application of the service signs in, unless told otherwise', async () => {
    const { provider } = (await putProvider({ github: {} })).as(httpsEdgeRouteOauth.view);
    expect(provider.github).toEqual({ ...MANAGED, teams: [], organizations: [] });
  });

  test.each([
    ['none', {}],
    ['none', { github: null, google: null }],
    ['github and google', { github: {}, google: {} }],
  ])('has exactly one provider, not %s', async (said, provider) => {
    expect((await putProvider(provider)).error.details['/provider']).toMatch(new RegExp(`exactly one.*has ${said}$`));
  });

  test.each([
    ['/provider/google/client_secret', { client_id: 'a' }],
    ['/provider/google/client_secret', { client_id: 'a', client_secret: null }],
    ['/provider/google/client_id', { client_secret: 'a' }],
    ['/provider/google/scopes', { scopes: ['email'] }],
    ['/provider/google/scopes', { client_id: 'a', scopes: ['email'] }],
    ['/provider/google/scopes', { client_secret: 'a', scopes: ['email'] }],
    ['/provider/google/client_id', { client_id: '', client_secret: 'a' }],
    ['/provider/google/client_secret', { client_id: 'a', client_secret: '' }],
    ['/provider/google/email_addresses/0', { email_addresses: ['nobody'] }],
    ['/provider/google/email_domains/0', { email_domains: ['exa mple.com'] }],
    ['/provider/google/email_domains/0', { email_domains: ['*.example.com'] }],
    ['/provider/google/email_domains/1', { email_domains: ['example.com', 'EXAMPLE.com'] }],
    ['/provider/google/organizations', { organizations: ['acme'] }],
    ['/provider/google', 'yes'],
  ])('a wrong %s is refused by name: %o', async (pointer, google) => {
    const { error } = await putProvider({ google });
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details).toHaveProperty([pointer]);
  });

  test.each([
    ['/provider/github/teams/0', { teams: ['admins'] }],
    ['/provider/github/teams/0', { teams: ['acme/admins/x'] }],
    ['/provider/github/organizations/0', { organizations: ['acme/admins'] }],
    ['/provider/github/organizations/0', { organizations: [''] }],
  ])('a wrong %s is refused by name: %o', async (pointer, github) => {
    expect((await putProvider({ github })).error.details).toHaveProperty([pointer]);
  });

  test.each([
    ['/provider', {}],
    ['/provider', { provider: null }],
    ['/provider/myspace', { provider: { myspace: {} } }],
    ['/auth_check_interval', { provider: { google: {} }, auth_check_interval: -1 }],
    ['/auth_check_interval', { provider: { google: {} }, auth_check_interval: 4_294_967_296 }],
    ['/issuer', { provider: { google: {} }, issuer: 'https://x.example' }],
  ])('a wrong %s is refused by name: %o', async (pointer, body) => {
    expect((await putOauth(body)).error.details).toHaveProperty([pointer]);
  });
});

describe('a client secret', () => {
  test('is sealed in the database, and in no event and no log', async () => {
    await putOidc(OIDC);
    await putProvider({ github: { ...CLIENT } });
    await putOidc({ ...OIDC, issuer: 'http://wrong.example' });
    await putProvider({ github: { ...CLIENT, scopes: 'wrong' } });
    const tables = await api.rows("select tablename from pg_tables where schemaname = 'public'");
    for (const { tablename } of tables) {
      for (const { line } of await api.rows(`select t::text as line from "${tablename}" t`)) {
        expect(line).not.toContain(CLIENT.client_secret);
      }
    }
    expect(api.logs.join('\n')).not.toContain(CLIENT.client_secret);
    const sealed = await api.rows('select sealed_secrets from modules where owner_id = $1', [routeId]);
    expect(sealed).toHaveLength(2);
    for (const { sealed_secrets } of sealed) expect(sealed_secrets).toMatch(/^v1\.tests\./);
  });

  test('does not open in the place of another one', async () => {
    await putOidc(OIDC);
    await putProvider({ google: {} });
    const text = `
      update modules set sealed_secrets = (select sealed_secrets from modules where id = $1 || '/oauth')
       where id = $1 || '/oidc'`;
    await api.rows(text, [routeId]);
    expect((await admin.get(`${route}/oidc`)).error.error_code).toBe('INTERNAL_ERROR');
  });

  test('is sealed anew when the encryption key changes', async () => {
    const [old, next] = [7, 8].map((byte) => ({ id: `k${byte}`, bytes: Buffer.alloc(32, byte) }));
    if (!old || !next) throw new Error('two keys');
    const own = await startTestApi({ secrets: createSecrets([old]) });
    const edgeId = (await own.admin.post('/edges/https', {})).as(withId).id;
    const body = { match: '/', match_type: 'path_prefix' };
    const { id } = (await own.admin.post(`/edges/https/${edgeId}/routes`, body)).as(withId);
    const path = `/edges/https/${edgeId}/routes/${id}/oidc`;
    const put = await own.admin.put(path, OIDC);
    expect(await rotateEncryption(own.db, [next, old], SEALED)).toMatchObject({ modules: 1 });
    const later = await startTestApi({ databaseUrl: own.databaseUrl, secrets: createSecrets([next]) });
    expect((await later.admin.get(path)).text).toBe(put.text);
  });

  test('cannot be kept by a service without an encryption key', async () => {
    const bare = await startTestApi({ databaseUrl: api.databaseUrl, secrets: createSecrets(undefined) });
    expect((await bare.admin.put(`${route}/oidc`, OIDC)).error.error_code).toBe('UNAVAILABLE');
    expect((await admin.get(`${route}/oidc`)).status).toBe(404);
  });
});

test('both modules of a route count as changes of the route', async () => {
  await putOidc(OIDC);
  await putProvider({ google: {} });
  expect(JSON.parse((await admin.get(route)).text)).toMatchObject({ modules: ['oauth', 'oidc'] });
  const types = await api.rows('select type from events where resource_id = $1 order by id', [routeId]);
  expect(types.map(({ type }) => type)).toEqual([
    'https_edge_route_created.v0',
    'https_edge_route_updated.v0',
    'https_edge_route_updated.v0',
  ]);
});
