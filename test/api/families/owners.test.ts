import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { apiKey } from '../../../src/resources/api-key.ts';
import { botUser } from '../../../src/resources/bot-user.ts';
import { credential } from '../../../src/resources/credential.ts';
import { user } from '../../../src/resources/user.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

const newBot = async (body: object = {}) => (await admin.post('/bot_users', { name: 'bot', ...body })).as(botUser.view);
const newUser = async (body: object = {}) => (await admin.post('/users', { name: 'user', ...body })).as(user.view);

describe('a bot user', () => {
  test('is active when created without saying so', async () => {
    const bot = await newBot({ name: 'deploys' });
    expect(bot).toMatchObject({ name: 'deploys', active: true });
    expect(bot.id).toMatch(/^bot_/);
    expect(bot.uri).toBe(`${BASE}/bot_users/${bot.id}`);
  });

  test('can be created inactive, and switched both ways without a change of anything else', async () => {
    const bot = await newBot({ active: false });
    expect(bot.active).toBe(false);
    const on = (await admin.patch(`/bot_users/${bot.id}`, { active: true })).as(botUser.view);
    expect(on).toEqual({ ...bot, active: true });
    const off = (await admin.patch(`/bot_users/${bot.id}`, { active: false })).as(botUser.view);
    expect(off).toEqual(bot);
    expect((await admin.patch(`/bot_users/${bot.id}`, { name: 'renamed' })).as(botUser.view)).toEqual({
      ...bot,
      name: 'renamed',
    });
  });

  test('is listed with limit and before_id', async () => {
    const bots = [await newBot(), await newBot(), await newBot()].reverse();
    const page = z.object({ bot_users: z.array(botUser.view), uri: z.string(), next_page_uri: z.string().nullable() });
    const first = (await admin.get('/bot_users?limit=2')).as(page);
    expect(first.bot_users).toEqual(bots.slice(0, 2));
    expect(first.next_page_uri).toBe(`${BASE}/bot_users?before_id=${bots[1]?.id}&limit=2`);
    const second = (await admin.get(`/bot_users?before_id=${bots[1]?.id}&limit=1`)).as(page);
    expect(second.bot_users).toEqual([bots[2]]);
  });

  test.each([
    ['/name', {}, 'is required'],
    ['/name', { name: '' }, 'must not be empty'],
    ['/name', { name: 'x'.repeat(256) }, 'must be at most 255 bytes of UTF-8, but is 256'],
    ['/active', { name: 'x', active: 'yes' }, 'must be a boolean, not a string'],
    ['/admin', { name: 'x', admin: true }, 'unknown field'],
  ])('refuses a wrong %s in %o', async (pointer, body, reason) => {
    expect((await admin.post('/bot_users', body)).error.details[pointer]).toBe(reason);
  });

  test('that is inactive cannot use its keys, from the very next request on', async () => {
    const bot = await api.newBot();
    expect((await bot.get('/ip_policies')).status).toBe(200);
    await admin.patch(`/bot_users/${bot.id}`, { active: false });
    expect((await bot.get('/ip_policies')).error.error_code).toBe('UNAUTHENTICATED');
    await admin.patch(`/bot_users/${bot.id}`, { active: true });
    expect((await bot.get('/ip_policies')).status).toBe(200);
  });

  test('is not deleted from under its credentials and keys, which the error names', async () => {
    const bot = await api.newBot();
    const { id } = (await bot.post('/credentials', {})).as(credential.view);
    const { error } = await admin.delete(`/bot_users/${bot.id}`);
    expect(error.error_code).toBe('RESOURCE_IN_USE');
    expect(error.details.credentials).toBe(id);
    expect(error.details.api_keys).toMatch(/^ak_/);
    await admin.delete(`/credentials/${id}`);
    await admin.delete(`/api_keys/${error.details.api_keys}`);
    expect((await admin.delete(`/bot_users/${bot.id}`)).status).toBe(204);
  });

  test('with many credentials is told of some', async () => {
    const bot = await newBot();
    for (let n = 0; n < 8; n++) await admin.post('/credentials', { owner_id: bot.id });
    const { error } = await admin.delete(`/bot_users/${bot.id}`);
    expect(error.details.credentials?.split(', ')).toHaveLength(6);
    expect(error.details.credentials).toMatch(/, …$/);
  });
});

describe('users and bots', () => {
  test.each(['/users', '/bot_users'])('are managed at %s by admins alone', async (path) => {
    const { id } = path === '/users' ? await newUser() : await newBot();
    for (const caller of [await api.newUser(), await api.newBot()]) {
      const calls = [
        caller.get(path),
        caller.post(path, { name: 'x' }),
        caller.get(`${path}/${id}`),
        caller.patch(`${path}/${id}`, { name: 'x' }),
        caller.delete(`${path}/${id}`),
      ];
      for (const call of calls) expect((await call).error.error_code).toBe('PERMISSION_DENIED');
    }
  });

  test('cannot make themselves admins', async () => {
    const caller = await api.newUser();
    expect((await caller.patch(`/users/${caller.id}`, { admin: true })).status).toBe(403);
  });

  test('who are admins may do what admins may, until they are none', async () => {
    const second = await api.newUser({ admin: true });
    expect((await second.get('/users')).status).toBe(200);
    await admin.patch(`/users/${second.id}`, { admin: false });
    expect((await second.get('/users')).status).toBe(403);
  });
});

describe('the last active admin', () => {
  test.each([
    ['demoted', (id: string) => admin.patch(`/users/${id}`, { admin: false })],
    ['deactivated', (id: string) => admin.patch(`/users/${id}`, { active: false })],
    ['deleted', (id: string) => admin.delete(`/users/${id}`)],
  ])('cannot be %s', async (_, call) => {
    await api.rows('update users set admin = false where id <> $1', [admin.id]);
    expect((await call(admin.id)).error).toMatchObject({ error_code: 'CONFLICT', details: { id: admin.id } });
    expect((await admin.patch(`/users/${admin.id}`, { name: 'renamed' })).status).toBe(200);
  });

  test('remains when two admins remove each other at the same moment', async () => {
    await api.rows('update users set admin = false where id <> $1', [admin.id]);
    const second = await api.newUser({ admin: true });
    const replies = await Promise.all([
      admin.patch(`/users/${second.id}`, { admin: false }),
      second.patch(`/users/${admin.id}`, { admin: false }),
    ]);
    expect(replies.map(({ status }) => status).sort()).not.toEqual([200, 200]);
    expect(await api.rows('select id from users where admin and active')).toHaveLength(1);
    await api.rows('update users set admin = true where id = $1', [admin.id]);
  });
});

describe('an API key', () => {
  test('shows its token once', async () => {
    const created = (await admin.post('/api_keys', { description: 'ci' })).as(apiKey.view);
    expect(created.token).toMatch(/^tnl_ak_[0-9A-Za-z]{43}$/);
    expect(created).toMatchObject({ description: 'ci', owner_id: admin.id, expires_at: null });
    const later = (await admin.get(`/api_keys/${created.id}`)).as(apiKey.view);
    expect(later).toEqual({ ...created, token: null });
  });

  test('works until it is deleted', async () => {
    const created = (await admin.post('/api_keys', {})).as(apiKey.view);
    const caller = api.withKey(admin.id, z.string().parse(created.token));
    expect((await caller.get('/ip_policies')).status).toBe(200);
    await admin.delete(`/api_keys/${created.id}`);
    expect((await caller.get('/ip_policies')).error.error_code).toBe('UNAUTHENTICATED');
  });

  test('works until it expires, which can be changed', async () => {
    const bot = await newBot();
    const body = { owner_id: bot.id, expires_at: '2999-01-01T00:00:00+01:00' };
    const created = (await admin.post('/api_keys', body)).as(apiKey.view);
    expect(created.expires_at).toBe('2998-12-31T23:00:00Z');
    const caller = api.withKey(bot.id, z.string().parse(created.token));
    expect((await caller.get('/ip_policies')).status).toBe(200);
    await admin.patch(`/api_keys/${created.id}`, { expires_at: '2001-01-01T00:00:00Z' });
    expect((await caller.get('/ip_policies')).error.msg).toMatch(/expired/);
    await admin.patch(`/api_keys/${created.id}`, { expires_at: null });
    expect((await caller.get('/ip_policies')).status).toBe(200);
  });

  test.each([
    'yesterday',
    '2026-02-30T00:00:00Z',
    '2026-01-01',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+14:00',
    5,
  ])('does not expire at %o', async (expires_at) => {
    expect((await admin.post('/api_keys', { expires_at })).error.details['/expires_at']).toBeDefined();
  });

  test('of another owner is made by admins alone, and seen by owner and admins alone', async () => {
    const [owner, other] = [await api.newUser(), await api.newUser()];
    expect((await other.post('/api_keys', { owner_id: owner.id })).status).toBe(403);
    const { id } = (await owner.post('/api_keys', {})).as(apiKey.view);
    expect((await other.get(`/api_keys/${id}`)).status).toBe(404);
    expect((await other.delete(`/api_keys/${id}`)).status).toBe(404);
    expect((await admin.get(`/api_keys/${id}`)).status).toBe(200);
    const list = z.object({ api_keys: z.array(apiKey.view) });
    const seen = (await other.get('/api_keys')).as(list).api_keys;
    expect(new Set(seen.map(({ owner_id }) => owner_id))).toEqual(new Set([other.id]));
  });
});
