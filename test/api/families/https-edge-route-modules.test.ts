/** Modules that sign users in, beyond what conformance covers: invalid settings, and sealed client secrets. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { SEALED } from '../../../src/api/families/all.ts';
import { rotateEncryption } from '../../../src/api/secrets/rotation.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { httpsEdgeRouteOauth } from '../../../src/resources/https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from '../../../src/resources/https-edge-route-oidc.ts';
import { startTestApi, type TestApi } from '../harness.ts';

const api = await startTestApi();
const withId = z.looseObject({ id: z.string() });
const OIDC = { issuer: 'https://accounts.example.com', client_id: 'my-id', client_secret: 'hush-5a0e-secret' };

async function newRoute({ admin }: Pick<TestApi, 'admin'>) {
  const edge = (await admin.post('/edges/https', {})).as(withId).id;
  const body = { match: '/', match_type: 'path_prefix' };
  const { id } = (await admin.post(`/edges/https/${edge}/routes`, body)).as(withId);
  return { id, path: `/edges/https/${edge}/routes/${id}` };
}

/** The place and the message of the first problem. */
const problem = (schema: z.ZodType, body: unknown) => {
  const [issue] = schema.safeParse(body).error?.issues ?? [];
  return `${issue?.path.join('/')}: ${issue?.message}`;
};

test.each([
  [{ issuer: 'https://accounts.example.com?x=1' }, /^issuer: .*query/],
  [{ scopes: ['two words'] }, /^scopes\/0: .*single scope/],
  [{ inactivity_timeout: -1 }, /^inactivity_timeout: .*0 to 4294967295/],
  [{ maximum_duration: 1.5 }, /^maximum_duration: .*whole number/],
  [{ cookie_prefix: 'a b' }, /^cookie_prefix: .*cookie name/],
  [{ cookie_prefix: 'a;b' }, /^cookie_prefix: .*cookie name/],
])('OIDC with %o is refused', (wrong, reason) => {
  expect(problem(httpsEdgeRouteOidc.input, { ...OIDC, ...wrong })).toMatch(reason);
});

test.each([
  [{ google: { client_id: 'a', client_secret: null } }, 'client_secret'],
  [{ google: { client_secret: 'a' } }, 'client_id'],
  [{ google: { client_id: '', client_secret: 'a' } }, 'client_id'],
  [{ google: { client_id: 'a', client_secret: 'a', scopes: ['"'] } }, 'scopes/0'],
  [{ google: { organizations: ['acme'] } }, ''],
  [{ google: { teams: ['acme/admins'] } }, ''],
])('OAuth with the provider %o is refused', (provider, place) => {
  const at = ['provider/google', place].filter(Boolean).join('/');
  expect(problem(httpsEdgeRouteOauth.input, { provider })).toMatch(new RegExp(`^${at}: `));
});

test('an event tells of a new client secret without showing it', async () => {
  const { id, path } = await newRoute(api);
  const google = (client_secret: string) => ({ provider: { google: { client_id: 'my-id', client_secret } } });
  for (const secret of ['hush-1', 'hush-2']) {
    await api.admin.put(`${path}/oidc`, { ...OIDC, client_secret: secret });
    await api.admin.put(`${path}/oauth`, google(secret));
  }
  const text =
    "select changed_fields, payload from events where resource_id = $1 and type like '%_updated.v0' order by id";
  expect(await api.rows(text, [id])).toMatchObject([
    { changed_fields: ['client_secret'], payload: { id, client_id: 'my-id', client_secret: '…' } },
    { changed_fields: ['provider'], payload: { id, provider: { google: { client_secret: '…' }, github: null } } },
  ]);
  await api.admin.put(`${path}/oauth`, { provider: { google: {} } });
  const [last] = await api.rows('select payload from events where resource_id = $1 order by id desc limit 1', [id]);
  expect(last).toMatchObject({ payload: { provider: { google: { client_secret: null } } } });
});

test('a client secret cannot be unsealed in the place of another', async () => {
  const { id, path } = await newRoute(api);
  await api.admin.put(`${path}/oidc`, OIDC);
  await api.admin.put(`${path}/oauth`, { provider: { google: {} } });
  const text = `
    update modules set sealed_secrets = (select sealed_secrets from modules where id = $1 || '/oauth')
     where id = $1 || '/oidc'`;
  await api.rows(text, [id]);
  expect((await api.admin.get(`${path}/oidc`)).error.error_code).toBe('INTERNAL_ERROR');
});

test('a client secret is sealed again when the encryption key is rotated', async () => {
  const [old, next] = [
    { id: 'k7', bytes: Buffer.alloc(32, 7) },
    { id: 'k8', bytes: Buffer.alloc(32, 8) },
  ];
  const before = await startTestApi({ secrets: createSecrets([old]) });
  const { path } = await newRoute(before);
  const put = await before.admin.put(`${path}/oidc`, OIDC);
  expect(await rotateEncryption(before.db, [next, old], SEALED)).toMatchObject({ modules: 1 });
  const after = await startTestApi({ databaseUrl: before.databaseUrl, secrets: createSecrets([next]) });
  expect((await after.admin.get(`${path}/oidc`)).text).toBe(put.text);
});
