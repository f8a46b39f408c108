/** A key with an end gives nothing that lasts longer than itself. */
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

/** Another key of an owner, which ends. */
async function ending(owner_id: string, expires_at: string | null = END): Promise<Caller & { keyId: string }> {
  const { id, token } = await keyOf(admin, { owner_id, expires_at });
  return { ...api.withKey(owner_id, z.string().parse(token)), keyId: id };
}

const refused = (reply: Reply) => {
  expect(reply.status, reply.text).toBe(400);
  expect(reply.error.details['/expires_at']).toContain(END);
};

const endOf = async (id: string) => (await admin.get(`/api_keys/${id}`)).as(apiKey.view).expires_at;

describe.each([
  ['an admin', () => ending(admin.id)],
  ['a user', async () => ending((await api.newUser()).id)],
  ['a bot', async () => ending((await api.newBot()).id)],
])('a key with an end, of %s', async (_, make) => {
  const caller = await make();
  const address = `/api_keys/${caller.keyId}`;

  test.each([AFTER, null, undefined])('makes no key that ends at %s', async (expires_at) => {
    const before = await api.rows('select count(*) from api_keys');
    refused(await caller.post('/api_keys', { expires_at }));
    refused(await caller.post('/api_keys', { expires_at }, { 'idempotency-key': `outlives-${caller.keyId}` }));
    expect(await api.rows('select count(*) from api_keys')).toEqual(before);
  });

  test.each([BEFORE, END, '2999-01-01T01:00:00+01:00'])('makes keys that end at %s', async (expires_at) => {
    expect((await keyOf(caller, { expires_at })).owner_id).toBe(caller.id);
  });

  test.each([AFTER, null])('cannot make its own end %s', async (expires_at) => {
    refused(await caller.patch(address, { expires_at, description: 'mine' }));
    expect(await endOf(caller.keyId)).toBe(END);
  });

  test.each([AFTER, null])('cannot make the end of another of its keys %s', async (expires_at) => {
    const { id } = await keyOf(caller, { expires_at: BEFORE });
    refused(await caller.patch(`/api_keys/${id}`, { expires_at }));
    expect((await caller.patch(`/api_keys/${id}`, { expires_at: END })).status).toBe(200);
  });

  test('changes what else there is of a key that lasts longer, and may shorten that', async () => {
    const { id } = await keyOf(admin, { owner_id: caller.id });
    const path = `/api_keys/${id}`;
    expect((await caller.patch(path, { description: 'lasting' })).status).toBe(200);
    expect((await caller.patch(path, { description: 'still', expires_at: null })).status).toBe(200);
    expect((await caller.patch(path, { expires_at: '3500-01-01T00:00:00Z' })).status).toBe(200);
    refused(await caller.patch(path, { expires_at: null }));
  });

  test('may end, and make credentials', async () => {
    const own = await ending(caller.id);
    expect((await own.post('/credentials', {})).status).toBe(201);
    expect((await own.patch(`/api_keys/${own.keyId}`, { expires_at: BEFORE })).status).toBe(200);
    expect((await own.delete(`/api_keys/${own.keyId}`)).status).toBe(204);
  });
});

test('an admin’s key with an end makes no lasting key for anybody else, not even for whom it has just made', async () => {
  const caller = await ending(admin.id);
  const bot = (await caller.post('/bot_users', { name: 'a bot' })).as(botUser.view);
  refused(await caller.post('/api_keys', { owner_id: bot.id }));
  refused(await caller.post('/api_keys', { owner_id: bot.id, expires_at: AFTER }));
  const { id } = await keyOf(caller, { owner_id: bot.id, expires_at: END });
  refused(await caller.patch(`/api_keys/${id}`, { expires_at: null }));
});

test('a replay shows what was made, also to a key that could not make it now', async () => {
  const lasting = await ending(admin.id, null);
  const headers = { 'idempotency-key': 'made-before' };
  const made = await lasting.post('/api_keys', {}, headers);
  await admin.patch(`/api_keys/${lasting.keyId}`, { expires_at: END });
  const replay = await lasting.post('/api_keys', {}, headers);
  expect([replay.status, replay.text]).toEqual([201, made.text]);
});

test('the end that counts is the one of the moment of the change', async () => {
  const caller = await ending(admin.id, AFTER);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('update api_keys set expires_at = $2 where id = $1', [caller.keyId, END]);
  const reply = caller.patch(`/api_keys/${caller.keyId}`, { description: 'late', expires_at: AFTER });
  await untilWaiting(api, 1);
  await held.commit();
  refused(await reply);
});

describe('a change of the caller’s key that is not committed yet', () => {
  const bodyOf = { POST: { expires_at: AFTER }, PATCH: { expires_at: AFTER, description: 'late' } } as const;
  const targets = {
    POST: async () => '/api_keys',
    PATCH: async (caller: Caller) => `/api_keys/${(await keyOf(caller, { expires_at: BEFORE })).id}`,
  };
  const held = async () => heldTransaction(api.databaseUrl);

  test.each(['POST', 'PATCH'] as const)('counts for a %s, as a new end', async (method) => {
    const caller = await ending(admin.id, AFTER);
    const path = await targets[method](caller);
    const other = await held();
    await other.query('update api_keys set expires_at = $2 where id = $1', [caller.keyId, END]);
    const reply = caller.send(method, path, { body: bodyOf[method] });
    await untilWaiting(api, 1);
    await other.commit();
    refused(await reply);
  });

  test.each(['POST', 'PATCH'] as const)('counts for a %s, as its deletion', async (method) => {
    const caller = await ending(admin.id, AFTER);
    const path = await targets[method](caller);
    const other = await held();
    await other.query('delete from api_keys where id = $1', [caller.keyId]);
    const before = await api.rows('select id, expires_at from api_keys order by id');
    const reply = caller.send(method, path, { body: bodyOf[method] });
    await untilWaiting(api, 1);
    await other.commit();
    expect((await reply).status).toBe(401);
    const left = before.filter(({ id }) => id !== caller.keyId);
    expect(await api.rows('select id, expires_at from api_keys order by id')).toEqual(left);
  });
});

test('a key is there for its owner and admins only', async () => {
  const [bot, other] = [await api.newBot(), await api.newBot()];
  const { id } = await keyOf(bot, {});
  const path = `/api_keys/${id}`;
  for (const reply of [
    await other.get(path),
    await other.patch(path, { description: 'mine' }),
    await other.delete(path),
  ])
    expect(reply.status).toBe(404);
  expect((await other.get('/api_keys')).text).not.toContain(id);
  for (const caller of [bot, admin]) expect((await caller.get(path)).status).toBe(200);
});

test('whoever asks who they are takes one connection to the database at a time', async () => {
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
