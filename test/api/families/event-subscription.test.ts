import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/resources/definition/id.ts';
import { idempotencyDigest } from '../../../src/resources/definition/idempotency.ts';
import { eventDestination } from '../../../src/resources/event-destination.ts';
import { eventSource, eventSources, eventSubscription } from '../../../src/resources/event-subscription.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const PATH = '/event_subscriptions';

const destination = async () =>
  (await admin.post('/event_destinations', { target: { webhook: { url: 'https://hooks.example.com/a' } } })).as(
    eventDestination.view,
  );
const create = async (body: object) => (await admin.post(PATH, body)).as(eventSubscription.view);
const sourcesOf = async (id: string) => (await admin.get(`${PATH}/${id}/sources`)).as(eventSources).sources;
const typed = (...types: string[]) => types.map((type) => ({ type }));
const sourceAt = (id: string, type: string) => ({ type, uri: `${BASE}${PATH}/${id}/sources/${type}` });
const typesOf = (sources: { type: string }[]) => sources.map(({ type }) => type);

describe('an event subscription', () => {
  test('is created, shown, listed, changed and deleted', async () => {
    const [a, b] = [await destination(), await destination()];
    const sent = { description: 'd', metadata: 'm' };
    const sources = typed('ip_policy_created.v0', 'ip_policy_updated.v0');
    const created = await create({ ...sent, sources, destination_ids: [b.id, a.id] });
    const { id } = created;
    expect(created).toEqual({
      ...sent,
      id,
      uri: `${BASE}${PATH}/${id}`,
      created_at: created.created_at,
      sources: [sourceAt(id, 'ip_policy_created.v0'), sourceAt(id, 'ip_policy_updated.v0')],
      destinations: [
        { id: b.id, uri: b.uri },
        { id: a.id, uri: a.uri },
      ],
    });
    expect(id).toMatch(/^esb_/);
    expect((await admin.get(`${PATH}/${id}`)).as(eventSubscription.view)).toEqual(created);
    expect(JSON.parse((await admin.get(`${PATH}?limit=1`)).text)[eventSubscription.collection]).toEqual([created]);

    const one = (await admin.patch(`${PATH}/${id}`, { destination_ids: [a.id] })).as(eventSubscription.view);
    expect(one).toEqual({ ...created, destinations: [{ id: a.id, uri: a.uri }] });
    const replaced = (await admin.patch(`${PATH}/${id}`, { sources: typed('user_deleted.v0') })).as(
      eventSubscription.view,
    );
    expect(replaced).toEqual({ ...one, sources: [sourceAt(id, 'user_deleted.v0')] });
    const reset = (await admin.patch(`${PATH}/${id}`, { sources: null, description: null })).as(eventSubscription.view);
    expect(reset).toEqual({ ...one, sources: [], description: null });
    expect((await admin.delete(`${PATH}/${id}`)).status).toBe(204);
    expect((await admin.get(`${PATH}/${id}`)).status).toBe(404);
  });

  test('may be without sources and destinations', async () => {
    expect(await create({})).toMatchObject({ sources: [], destinations: [], description: null, metadata: null });
  });

  test('has limits that count characters, not bytes', async () => {
    const fits = { description: '𝄞'.repeat(255), metadata: 'é'.repeat(4096) };
    expect(await create(fits)).toMatchObject(fits);
    const { error } = await admin.post(PATH, { description: 'é'.repeat(256), metadata: 'x'.repeat(4097) });
    expect(error.details['/description']).toBe('must be at most 255 characters, but is 256');
    expect(error.details['/metadata']).toBe('must be at most 4096 characters, but is 4097');
  });

  test('asks for types that there are; the answer to another names the nearest', async () => {
    const wrong = typed('ip_policy_created.v0', 'ip_polcy_created.v0', 'zzz');
    const { error } = await admin.post(PATH, { sources: wrong });
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details).not.toHaveProperty(['/sources/0/type']);
    expect(error.details['/sources/1/type']).toMatch(
      /"ip_polcy_created\.v0" is not an event type.*most similar ones are ip_policy_created\.v0,/,
    );
    expect(error.details['/sources/2/type']).toMatch(/"zzz" is not an event type/);
    const { id } = await create({});
    const patched = await admin.patch(`${PATH}/${id}`, { sources: typed('nonsense') });
    expect(patched.error.details).toHaveProperty(['/sources/0/type']);
  });

  test('has each type and each destination once', async () => {
    const { id } = await destination();
    const sources = typed('ip_policy_created.v0', 'user_created.v0', 'ip_policy_created.v0');
    const { error } = await admin.post(PATH, { sources, destination_ids: [id, id] });
    expect(error.details['/sources/2/type']).toMatch(/already in sources\[0\]/);
    expect(error.details['/destination_ids/1']).toMatch(/already at index 0/);
  });

  test.each([
    ['/sources', { sources: {} }],
    ['/sources/0', { sources: ['ip_policy_created.v0'] }],
    ['/sources/0/type', { sources: [{}] }],
    ['/sources/0/uri', { sources: [{ type: 'ip_policy_created.v0', uri: 'x' }] }],
    ['/destination_ids', { destination_ids: 'ed_x' }],
    ['/destination_ids/0', { destination_ids: ['nonsense'] }],
    ['/destination_ids/0', { destination_ids: [newId('ipp')] }],
    ['/destinations', { destinations: [] }],
  ])('a wrong %s is refused by name: %o', async (pointer, body) => {
    expect((await admin.post(PATH, body)).error.details).toHaveProperty([pointer]);
  });

  test('names destinations that exist', async () => {
    const known = await destination();
    const missing = newId('ed');
    const { error } = await admin.post(PATH, { destination_ids: [known.id, missing] });
    expect(error).toMatchObject({ error_code: 'INVALID_REQUEST' });
    expect(error.details['/destination_ids/1']).toBe(`event destination ${missing} does not exist`);
    expect(error.details).not.toHaveProperty(['/destination_ids/0']);
    const { id } = await create({});
    const patched = await admin.patch(`${PATH}/${id}`, { destination_ids: [missing] });
    expect(patched.error.details).toHaveProperty(['/destination_ids/0']);
  });

  test('keeps its destinations from being deleted, until it lets them go', async () => {
    const { id } = await destination();
    const subscriptions = await Promise.all(Array.from({ length: 7 }, () => create({ destination_ids: [id] })));
    const { error } = await admin.delete(`/event_destinations/${id}`);
    expect(error.error_code).toBe('RESOURCE_IN_USE');
    const named = subscriptions.map((each) => each.id).sort();
    expect(error.details.event_subscription).toBe(`${named.slice(0, 5).join(', ')}, …`);
    const [first, ...others] = subscriptions;
    for (const other of others) await admin.delete(`${PATH}/${other.id}`);
    const last = await admin.delete(`/event_destinations/${id}`);
    expect(last.error.details.event_subscription).toBe(first?.id);
    await admin.patch(`${PATH}/${first?.id}`, { destination_ids: [] });
    expect((await admin.delete(`/event_destinations/${id}`)).status).toBe(204);
  });

  test('and its destination, created and deleted at once, never end as a subscription to nothing', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await destination();
      const [made, gone] = await Promise.all([
        admin.post(PATH, { destination_ids: [id] }),
        admin.delete(`/event_destinations/${id}`),
      ]);
      expect([made.status, gone.status]).toSatisfy(
        ([created, deleted]) => (created === 201 && deleted === 409) || (created === 400 && deleted === 204),
      );
    }
  });

  test('is for admins, since events tell of what others own', async () => {
    const user = await api.newUser();
    expect((await user.get(PATH)).status).toBe(403);
    expect((await user.post(PATH, {})).status).toBe(403);
    expect((await user.get(`${PATH}/${newId('esb')}/sources`)).status).toBe(403);
    expect((await user.get('/event_destinations')).status).toBe(403);
    expect((await user.get('/event_types')).status).toBe(200);
  });
});

describe('a source', () => {
  test('is added, shown, listed and removed', async () => {
    const { id } = await create({ sources: typed('ip_policy_created.v0') });
    const path = `${PATH}/${id}/sources`;
    const added = await admin.post(path, { type: 'ip_policy_deleted.v0' });
    expect(added.status).toBe(201);
    expect(added.as(eventSource)).toEqual(sourceAt(id, 'ip_policy_deleted.v0'));
    expect(added.headers.location).toBe(sourceAt(id, 'ip_policy_deleted.v0').uri);
    const list = await admin.get(path);
    expect(JSON.parse(list.text)).toEqual({
      sources: [sourceAt(id, 'ip_policy_created.v0'), sourceAt(id, 'ip_policy_deleted.v0')],
      uri: `${BASE}${path}`,
    });
    expect((await admin.get(`${path}/ip_policy_deleted.v0`)).as(eventSource)).toEqual(
      sourceAt(id, 'ip_policy_deleted.v0'),
    );
    expect((await admin.delete(`${path}/ip_policy_created.v0`)).status).toBe(204);
    expect(typesOf(await sourcesOf(id))).toEqual(['ip_policy_deleted.v0']);
    const { sources } = (await admin.get(`${PATH}/${id}`)).as(eventSubscription.view);
    expect(typesOf(sources)).toEqual(['ip_policy_deleted.v0']);
  });

  test('is updated by an empty object, which changes nothing', async () => {
    const { id } = await create({ sources: typed('ip_policy_created.v0') });
    const path = `${PATH}/${id}/sources/ip_policy_created.v0`;
    const { etag } = (await admin.get(path)).headers;
    for (const body of [{}, undefined, { type: 'ip_policy_created.v0' }]) {
      const reply = await admin.patch(path, body);
      expect(reply.as(eventSource)).toEqual(sourceAt(id, 'ip_policy_created.v0'));
      expect(reply.headers.etag).toBe(etag);
    }
    expect((await admin.patch(path, { type: 'user_created.v0' })).error.details).toHaveProperty(['/type']);
    expect((await admin.patch(path, { enabled: true })).error.details).toHaveProperty(['/enabled']);
  });

  test('is not read again where it is known already', async () => {
    const { id } = await create({ sources: typed('ip_policy_created.v0') });
    const path = `${PATH}/${id}/sources/ip_policy_created.v0`;
    const { etag = '' } = (await admin.get(path)).headers;
    expect((await admin.get(path, { 'if-none-match': etag })).status).toBe(304);
  });

  test('may be changed with its own address, and with no other, and is added without one', async () => {
    const { id } = await create({ sources: typed('ip_policy_created.v0') });
    const path = `${PATH}/${id}/sources`;
    const one = sourceAt(id, 'ip_policy_created.v0');
    const other = { '/uri': 'is set by the service' };
    expect((await admin.patch(`${path}/${one.type}`, one)).as(eventSource)).toEqual(one);
    expect((await admin.patch(`${path}/${one.type}`, { uri: 'x' })).error.details).toMatchObject(other);
    const next = sourceAt(id, 'ip_policy_updated.v0');
    expect((await admin.post(path, { ...next, uri: 'x' })).error.details).toMatchObject(other);
  });

  test('is what its idempotency key has made, for as long as the subscription exists', async () => {
    const { id } = await create({});
    const [kept, gone] = ['kept', 'gone'].map((name) => `${name}-${id}`);
    const path = `${PATH}/${id}/sources`;
    const types = new Map([
      [kept, 'ip_policy_created.v0'],
      [gone, 'ip_policy_deleted.v0'],
    ]);
    for (const [key = '', type] of types) await admin.post(path, { type }, { 'idempotency-key': key });
    const close = async (key = '') =>
      JSON.parse((await admin.put(`/idempotency_keys/${idempotencyDigest(key)}/closed`)).text).resource;
    expect(await close(kept)).toMatchObject({ uri: sourceAt(id, 'ip_policy_created.v0').uri });
    await admin.delete(`${PATH}/${id}`);
    expect(await close(gone)).toBeNull();
  });

  test('is there once', async () => {
    const { id } = await create({ sources: typed('ip_policy_created.v0') });
    const { error } = await admin.post(`${PATH}/${id}/sources`, { type: 'ip_policy_created.v0' });
    expect(error).toMatchObject({ error_code: 'CONFLICT' });
    expect(error.details['/type']).toContain(id);
  });

  test('is of a type that there is', async () => {
    const { id } = await create({});
    const { error } = await admin.post(`${PATH}/${id}/sources`, { type: 'bot_user_update.v0' });
    expect(error).toMatchObject({ error_code: 'INVALID_REQUEST' });
    expect(error.details['/type']).toMatch(/most similar ones are bot_user_updated\.v0/);
    expect((await admin.post(`${PATH}/${id}/sources`, {})).error.details['/type']).toBe('is required');
  });

  test('does not exist where it was not added', async () => {
    const { id } = await create({});
    const none = `${PATH}/${newId('esb')}/sources`;
    for (const path of [`${PATH}/${id}/sources/ip_policy_created.v0`, `${none}/ip_policy_created.v0`]) {
      expect((await admin.get(path)).status).toBe(404);
      expect((await admin.patch(path, {})).status).toBe(404);
      expect((await admin.delete(path)).status).toBe(404);
    }
    const { error } = await admin.get(`${PATH}/${id}/sources/ip_policy_created.v0`);
    expect(error.details).toMatchObject({ id, type: 'ip_policy_created.v0' });
    expect((await admin.get(none)).status).toBe(404);
    expect((await admin.post(none, { type: 'ip_policy_created.v0' })).status).toBe(404);
  });

  test('is part of its subscription: one revision, and an event that says it was updated', async () => {
    const { id } = await create({});
    const path = `${PATH}/${id}/sources`;
    const { etag = '' } = (await admin.get(`${PATH}/${id}`)).headers;
    const added = await admin.post(path, { type: 'ip_policy_created.v0' });
    expect(added.headers.etag).not.toBe(etag);
    expect((await admin.get(path)).headers.etag).toBe(added.headers.etag);
    expect((await admin.get(path, { 'if-none-match': added.headers.etag ?? '' })).status).toBe(304);
    const at = `${path}/ip_policy_created.v0`;
    expect((await admin.delete(at, { 'if-match': etag })).error.error_code).toBe('PRECONDITION_FAILED');
    await admin.delete(at, { 'if-match': added.headers.etag ?? '' });
    const events = await api.rows('select type, payload from events where resource_id = $1 order by id', [id]);
    expect(events).toMatchObject([
      { type: 'event_subscription_created.v0', payload: { sources: [] } },
      { type: 'event_subscription_updated.v0', payload: { sources: [sourceAt(id, 'ip_policy_created.v0')] } },
      { type: 'event_subscription_updated.v0', payload: { sources: [] } },
    ]);
  });

  test('is added once under an idempotency key, for as long as it is there', async () => {
    const { id } = await create({});
    const path = `${PATH}/${id}/sources`;
    const headers = { 'idempotency-key': 'source-1' };
    const body = { type: 'ip_policy_created.v0' };
    const first = await admin.post(path, body, headers);
    const again = await admin.post(path, body, headers);
    expect(again.text).toBe(first.text);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect((await admin.post(path, { type: 'user_created.v0' }, headers)).status).toBe(422);
    await admin.delete(`${path}/${body.type}`);
    const anew = await admin.post(path, body, headers);
    expect(anew.status).toBe(201);
    expect(anew.headers['idempotency-replayed']).toBeUndefined();
    await admin.patch(`${PATH}/${id}`, { sources: [] });
    expect((await admin.post(path, body, headers)).headers['idempotency-replayed']).toBeUndefined();
    await admin.delete(`${PATH}/${id}`);
    expect((await admin.post(path, body, headers)).status).toBe(404);
  });

  test('added many at once, all stay', async () => {
    const { id } = await create({});
    const types = ['ip_policy', 'credential', 'user', 'bot_user'].map((name) => `${name}_created.v0`);
    const replies = await Promise.all(types.map((type) => admin.post(`${PATH}/${id}/sources`, { type })));
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(typesOf(await sourcesOf(id)).sort()).toEqual(types.toSorted());
  });
});
