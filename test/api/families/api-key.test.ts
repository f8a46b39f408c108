/** A key that expires cannot create or extend a key beyond its own expiry. */
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { apiKey } from '../../../src/resources/api-key.ts';
import { botUser } from '../../../src/resources/bot-user.ts';
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
