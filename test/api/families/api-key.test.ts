/** A key that expires cannot create or extend a key beyond its own expiry. */
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { apiKey } from '../../../src/resources/api-key.ts';
import { botUser } from '../../../src/resources/bot-user.ts';
import { user } from '../../../src/resources/user.ts';
import { type Caller, heldTransaction, type Reply, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

const BEFORE = '2998-01-01T00:00:00Z';
const END = '2999-01-01T00:00:00Z';
const AFTER = '2999-01-01T00:00:01Z';

const keyOf = async (caller: Caller, body: object) => (await caller.post('/api_keys', body)).as(apiKey.view);

/** Creates another key of an owner, which expires. */
async function ending(owner_id: string, expires_at: string | null = END): Promise<Caller & { keyId: string }> {
  const { id, token } = await keyOf(admin, { owner_id, expires_at });
  return { ...api.withKey(owner_id, z.string().parse(token)), keyId: id };
}

const refused = (reply: Reply) => {
  expect(reply.status, reply.text).toBe(400);
  expect(reply.error.details['/expires_at']).toContain(END);
};

const endOf = async (id: string) => (await admin.get(`/api_keys/${id}`)).as(apiKey.view).expires_at;

describe('a key that expires', async () => {
  const caller = await ending((await api.newUser()).id);

  test('cannot create a key that lasts longer, with or without an idempotency key', async () => {
    const before = await api.rows('select count(*) from api_keys');
    for (const expires_at of [AFTER, null, undefined]) {
      refused(await caller.post('/api_keys', { expires_at }));
      refused(await caller.post('/api_keys', { expires_at }, { 'idempotency-key': 'outlives' }));
    }
    expect(await api.rows('select count(*) from api_keys')).toEqual(before);
  });

  test.each([BEFORE, END, '2999-01-01T01:00:00+01:00'])('can create a key that expires at %s', async (expires_at) => {
    expect((await keyOf(caller, { expires_at })).owner_id).toBe(caller.id);
  });

  test.each([AFTER, null])('cannot extend itself or another key of its owner to %s', async (expires_at) => {
    const { id } = await keyOf(caller, { expires_at: BEFORE });
    for (const each of [caller.keyId, id]) {
      refused(await caller.patch(`/api_keys/${each}`, { expires_at, description: 'mine' }));
    }
    expect([await endOf(caller.keyId), await endOf(id)]).toEqual([END, BEFORE]);
    expect((await caller.patch(`/api_keys/${id}`, { expires_at: END })).status).toBe(200);
  });

  test('can change the description of a key that lasts longer, and shorten its life', async () => {
    const { id } = await keyOf(admin, { owner_id: caller.id });
    const path = `/api_keys/${id}`;
    expect((await caller.patch(path, { description: 'lasting' })).status).toBe(200);
    expect((await caller.patch(path, { description: 'still', expires_at: null })).status).toBe(200);
    expect((await caller.patch(path, { expires_at: '3500-01-01T00:00:00Z' })).status).toBe(200);
    refused(await caller.patch(path, { expires_at: null }));
  });
});

test('an admin’s expiring key cannot create a lasting key for others, not even for a bot it just created', async () => {
  const caller = await ending(admin.id);
  const bot = (await caller.post('/bot_users', { name: 'a bot' })).as(botUser.view);
  refused(await caller.post('/api_keys', { owner_id: bot.id }));
  refused(await caller.post('/api_keys', { owner_id: bot.id, expires_at: AFTER }));
  const { id } = await keyOf(caller, { owner_id: bot.id, expires_at: END });
  refused(await caller.patch(`/api_keys/${id}`, { expires_at: null }));
});

test('a replay shows what was created, even to a key that could not create it now', async () => {
  const lasting = await ending(admin.id, null);
  const headers = { 'idempotency-key': 'made-before' };
  const made = await lasting.post('/api_keys', {}, headers);
  await admin.patch(`/api_keys/${lasting.keyId}`, { expires_at: END });
  const replay = await lasting.post('/api_keys', {}, headers);
  expect([replay.status, replay.text]).toEqual([201, made.text]);
});

describe('an uncommitted change of the caller’s key', () => {
  const bodyOf = { POST: { expires_at: AFTER }, PATCH: { expires_at: AFTER, description: 'late' } } as const;
  const targets = {
    POST: async () => '/api_keys',
    PATCH: async (caller: Caller) => `/api_keys/${(await keyOf(caller, { expires_at: BEFORE })).id}`,
  };

  test.each([
    ['POST', 'a new expiry', 'update api_keys set expires_at = $2 where id = $1', 400],
    ['PATCH', 'a new expiry', 'update api_keys set expires_at = $2 where id = $1', 400],
    ['POST', 'its deletion', 'delete from api_keys where id = $1 and $2::text <> id', 401],
    ['PATCH', 'its deletion', 'delete from api_keys where id = $1 and $2::text <> id', 401],
  ] as const)('counts for a concurrent %s: %s', async (method, _, change, status) => {
    const caller = await ending(admin.id, AFTER);
    const path = await targets[method](caller);
    const others = () => api.rows('select id, expires_at from api_keys where id <> $1 order by id', [caller.keyId]);
    const before = await others();
    const held = await heldTransaction(api.databaseUrl);
    await held.query(change, [caller.keyId, END]);
    const reply = caller.send(method, path, { body: bodyOf[method] });
    await untilWaiting(api, 1);
    await held.commit();
    expect((await reply).status).toBe(status);
    expect(await others()).toEqual(before);
  });
});

describe('the last working key of an admin', () => {
  /** The ways to end a key. */
  const ends = {
    'be deleted': (caller: Caller, id: string) => caller.delete(`/api_keys/${id}`),
    'expire in the past': (caller: Caller, id: string) =>
      caller.patch(`/api_keys/${id}`, { expires_at: '2001-01-01T00:00:00Z' }),
    'expire now': (caller: Caller, id: string) =>
      caller.patch(`/api_keys/${id}`, { expires_at: new Date().toISOString() }),
  };

  test.each(Object.keys(ends) as (keyof typeof ends)[])('cannot %s, until there is another one', async (way) => {
    const fresh = await startTestApi();
    const [{ id } = {}] = await fresh.rows('select id from api_keys');
    const only = String(id);
    await fresh.newBot();
    const expired = (await fresh.admin.post('/api_keys', {})).as(apiKey.view);
    await fresh.admin.patch(`/api_keys/${expired.id}`, { expires_at: '2001-01-01T00:00:00Z' });
    await fresh.admin.post('/api_keys', { scopes: ['*:read', 'users:write'] });
    const person = await fresh.newUser();
    const inactive = await fresh.newUser({ admin: true });
    await fresh.admin.patch(`/users/${inactive.id}`, { active: false });
    const { error } = await ends[way](fresh.admin, only);
    expect(error).toMatchObject({ error_code: 'CONFLICT', details: { id: only } });
    expect((await fresh.admin.patch(`/api_keys/${only}`, { expires_at: END, description: 'renamed' })).status).toBe(
      200,
    );
    await fresh.admin.patch(`/users/${person.id}`, { admin: true });
    expect((await ends[way](fresh.admin, only)).status).toBeLessThan(300);
    expect((await person.get('/whoami')).status).toBe(200);
  });

  test('remains when two keys end each other at the same moment', async () => {
    const fresh = await startTestApi();
    const second = await fresh.newUser({ admin: true });
    const keys = await fresh.rows('select id, owner_id from api_keys order by id');
    const idOf = ({ id }: Caller) => keys.find(({ owner_id }) => owner_id === id)?.id;
    const replies = await Promise.all([
      fresh.admin.delete(`/api_keys/${idOf(second)}`),
      second.delete(`/api_keys/${idOf(fresh.admin)}`),
    ]);
    expect(replies.map(({ status }) => status).sort()).not.toEqual([204, 204]);
    expect(await fresh.rows('select 1 from api_keys')).toHaveLength(1);
  });

  test('keeps its owner an admin, even if there is another one without a key', async () => {
    const fresh = await startTestApi();
    const { id } = (await fresh.admin.post('/users', { name: 'without a key', admin: true })).as(user.view);
    expect((await fresh.admin.patch(`/users/${fresh.admin.id}`, { admin: false })).error.error_code).toBe('CONFLICT');
    await fresh.newKey(id);
    expect((await fresh.admin.patch(`/users/${fresh.admin.id}`, { admin: false })).status).toBe(200);
  });
});

describe('a key shows', () => {
  test('the first characters of its token', async () => {
    const made = await keyOf(admin, {});
    expect(made.token_prefix).toMatch(/^tnl_ak_[0-9A-Za-z]{4}$/);
    expect(made.token).toContain(made.token_prefix);
    expect((await keyOf(admin, { description: 'another' })).token_prefix).not.toBe(made.token_prefix);
  });

  const hour = () => `${new Date().toISOString().slice(0, 13)}:00:00Z`;
  const lastUse = async (id: string) => (await admin.get(`/api_keys/${id}`)).as(apiKey.view).last_used_at;
  const updates = async (id: string) => (await api.rows('select xmin from api_keys where id = $1', [id]))[0];

  test('the hour of its last use, which costs one write an hour and is no change of the key', async () => {
    const caller = await ending(admin.id);
    const { keyId } = caller;
    const path = `/api_keys/${keyId}`;
    const before = await admin.get(path);
    expect(before.as(apiKey.view).last_used_at).toBeNull();
    const events = await api.rows('select count(*) from events');
    const start = hour();
    for (let n = 0; n < 3; n++) await caller.get('/whoami');
    await vi.waitFor(async () => expect(await lastUse(keyId)).not.toBeNull(), { timeout: 10_000 });
    expect([start, hour()]).toContain(await lastUse(keyId));
    expect(await api.rows('select count(*) from events')).toEqual(events);
    const written = await updates(keyId);
    await caller.get('/whoami');
    expect((await admin.get(path)).headers.etag).toBe(before.headers.etag);
    // What was read before may be sent back.
    const sent = { ...before.as(apiKey.view), description: 'changed' };
    expect((await admin.patch(path, sent, { 'if-match': before.headers.etag ?? '' })).status).toBe(200);
    expect((await admin.patch(path, { last_used_at: 'now' })).error.details['/last_used_at']).toBe(
      'is set by the service',
    );
    expect(await lastUse(keyId)).not.toBeNull();
    // The next hour.
    await api.rows("update api_keys set last_used_at = last_used_at - interval '1h' where id = $1", [keyId]);
    const earlier = await lastUse(keyId);
    expect(await updates(keyId)).not.toEqual(written);
    await caller.get('/whoami');
    await vi.waitFor(async () => expect(await lastUse(keyId)).not.toBe(earlier), { timeout: 10_000 });
  });

  test('no use while its row is locked, which delays no request', async () => {
    const caller = await ending(admin.id);
    const held = await heldTransaction(api.databaseUrl);
    await held.query('select 1 from api_keys where id = $1 for update', [caller.keyId]);
    const noted = vi.spyOn(api.db, 'query');
    expect((await caller.get('/ip_policies')).status).toBe(200);
    const done = () => noted.mock.calls.findIndex(([{ name }]) => name === 'api_keys.last_use');
    await vi.waitFor(() => expect(done()).not.toBe(-1), { timeout: 10_000 });
    await noted.mock.results[done()]?.value;
    noted.mockRestore();
    expect((await caller.get('/ip_policies')).status).toBe(200);
    await held.rollback();
    await caller.get('/ip_policies');
    await vi.waitFor(async () => expect(await lastUse(caller.keyId)).not.toBeNull(), { timeout: 10_000 });
  });
});

test('GET /whoami takes one connection to the database at a time', async () => {
  const { query } = api.db;
  let [running, most] = [0, 0];
  const counted = vi.spyOn(api.db, 'query').mockImplementation((statement) => {
    most = Math.max(most, ++running);
    return query(statement).finally(() => running--);
  });
  expect((await admin.get('/whoami')).status).toBe(200);
  counted.mockRestore();
  expect(most).toBe(1);
});
