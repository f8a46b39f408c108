import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { authentication, credential } from '../../../src/resources/credential.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { BASE, type Caller, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

async function issue(caller: Caller, body: object = {}) {
  const shown = (await caller.post('/credentials', body)).as(credential.view);
  return { ...shown, token: z.string().parse(shown.token) };
}

describe('a credential', () => {
  test('shows its token only in the creation response', async () => {
    const reply = await admin.post('/credentials', { description: 'd', metadata: 'm', acl: ['bind:example.com'] });
    expect(reply.status).toBe(201);
    const created = reply.as(credential.view);
    expect(created).toMatchObject({ description: 'd', metadata: 'm', acl: ['bind:example.com'], owner_id: admin.id });
    expect(created.id).toMatch(/^cr_/);
    expect(created.uri).toBe(`${BASE}/credentials/${created.id}`);
    expect(created.token).toMatch(/^tnl_cr_[0-9A-Za-z]{43}$/);
    const later = { ...created, token: null };
    expect((await admin.get(`/credentials/${created.id}`)).as(credential.view)).toEqual(later);
    expect((await admin.patch(`/credentials/${created.id}`, {})).as(credential.view)).toEqual(later);
    const listed = (await admin.get('/credentials?limit=1')).as(z.object({ credentials: z.array(credential.view) }));
    expect(listed.credentials).toEqual([later]);
  });

  test('gets a token that no other has', async () => {
    const tokens = await Promise.all(Array.from({ length: 50 }, async () => (await issue(admin)).token));
    expect(new Set(tokens).size).toBe(50);
  });

  test.each([
    ['no ACL', {}],
    ['null', { acl: null }],
    ['an empty list', { acl: [] }],
  ])('is unrestricted with %s, shown as an empty list', async (_, body) => {
    expect((await issue(admin, body)).acl).toEqual([]);
  });

  test('changes its description, metadata and ACL, and keeps its token', async () => {
    const { token, ...created } = await issue(admin, { acl: ['bind:a.example'] });
    const change = { description: 'x', metadata: 'y', acl: ['bind:b.example', 'bind:team=*'] };
    const changed = (await admin.patch(`/credentials/${created.id}`, change)).as(credential.view);
    expect(changed).toEqual({ ...created, ...change, token: null });
    const ask = async (bind: string) =>
      (await admin.post('/credentials/authenticate', { token, bind })).as(authentication);
    expect((await ask('b.example')).allowed).toBe(true);
    expect((await ask('a.example')).allowed).toBe(false);
    const emptied = (await admin.patch(`/credentials/${created.id}`, { acl: null })).as(credential.view);
    expect(emptied.acl).toEqual([]);
  });

  test.each([
    ['token', 'is set by the service'],
    ['owner_id', 'cannot be changed'],
    ['id', 'must equal the "id" in the path'],
    ['uri', 'is set by the service'],
    ['created_at', 'is set by the service'],
  ])('refuses a PATCH of %s', async (field, reason) => {
    const { id } = await issue(admin);
    const value = field === 'id' ? newId('cr') : newId('usr');
    const { error } = await admin.patch(`/credentials/${id}`, { [field]: value });
    expect(error.details[`/${field}`]).toBe(reason);
  });

  test('refuses a token from outside', async () => {
    expect((await admin.post('/credentials', { token: 'mine' })).error.details['/token']).toBe('is set by the service');
  });

  test('names every malformed rule of an ACL, and stores nothing', async () => {
    const before = await api.rows('select count(*) as n from credentials');
    const acl = [
      'bind:ok.example',
      'allow:x',
      'bind:',
      'bind:*.*.example',
      'bind:host:99999',
      'bind:a=b=c',
      'bind:-x.example',
    ];
    const { error } = await admin.post('/credentials', { acl });
    expect(error.error_code).toBe('INVALID_REQUEST');
    const { request_id, ...named } = error.details;
    expect(Object.keys(named)).toEqual(['/acl/1', '/acl/2', '/acl/3', '/acl/4', '/acl/5', '/acl/6']);
    for (const [pointer, reason] of Object.entries(named))
      expect(reason).toContain(`"${acl[Number(pointer.slice(5))]}"`);
    expect(await api.rows('select count(*) as n from credentials')).toEqual(before);
  });

  test.each([
    ['description', 255],
    ['metadata', 4096],
  ])('has a %s of at most %i bytes', async (field, max) => {
    const full = `${'é'.repeat(Math.floor(max / 2))}${'x'.repeat(max % 2)}`;
    expect((await issue(admin, { [field]: full }))[field === 'metadata' ? 'metadata' : 'description']).toBe(full);
    expect((await admin.post('/credentials', { [field]: `${full}x` })).error.details[`/${field}`]).toMatch(/bytes/);
  });
});

describe('the owner of a credential', () => {
  test('is the caller, user or bot', async () => {
    for (const caller of [await api.newUser(), await api.newBot()])
      expect((await issue(caller)).owner_id).toBe(caller.id);
  });

  test('may be named by the caller when it is themselves', async () => {
    const bot = await api.newBot();
    expect((await issue(bot, { owner_id: bot.id })).owner_id).toBe(bot.id);
  });

  test('may be another only for an admin', async () => {
    const [user, bot] = [await api.newUser(), await api.newBot()];
    expect((await issue(admin, { owner_id: bot.id })).owner_id).toBe(bot.id);
    expect((await issue(admin, { owner_id: user.id })).owner_id).toBe(user.id);
    const { error } = await user.post('/credentials', { owner_id: bot.id });
    expect(error).toMatchObject({ error_code: 'PERMISSION_DENIED', details: { '/owner_id': bot.id } });
    expect((await user.post('/credentials', { owner_id: newId('usr') })).status).toBe(403);
  });

  test.each(['usr', 'bot'])('must exist (%s)', async (prefix) => {
    const owner_id = newId(prefix);
    const { error } = await admin.post('/credentials', { owner_id });
    expect(error.details['/owner_id']).toContain(owner_id);
    expect(error.error_code).toBe('INVALID_REQUEST');
  });

  test('must be an id of a user or a bot', async () => {
    expect((await admin.post('/credentials', { owner_id: newId('cr') })).error.details['/owner_id']).toMatch(
      /usr_ or bot_/,
    );
  });

  test('and admins are the only ones for whom the credential exists', async () => {
    const [owner, other] = [await api.newUser(), await api.newUser()];
    const { id } = await issue(owner);
    const path = `/credentials/${id}`;
    expect((await owner.get(path)).status).toBe(200);
    expect((await admin.get(path)).status).toBe(200);
    for (const call of [other.get(path), other.patch(path, { description: 'mine now' }), other.delete(path)]) {
      expect((await call).error.error_code).toBe('NOT_FOUND');
    }
    expect((await owner.patch(path, { description: 'x' })).status).toBe(200);
    expect((await owner.delete(path)).status).toBe(204);
  });

  test('sees a list of their own, paged by key all the same', async () => {
    const [owner, other] = [await api.newUser(), await api.newBot()];
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      ids.unshift((await issue(owner)).id);
      await issue(other);
    }
    const page = z.object({ credentials: z.array(z.object({ id: z.string() })), next_page_uri: z.string().nullable() });
    const seen: string[] = [];
    for (let uri: string | null = '/credentials?limit=2'; uri !== null; ) {
      const { credentials, next_page_uri }: z.output<typeof page> = (await owner.get(uri.replace(BASE, ''))).as(page);
      seen.push(...credentials.map(({ id }) => id));
      uri = next_page_uri;
    }
    expect(seen).toEqual(ids);
  });
});
