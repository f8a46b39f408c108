import { describe, expect, test } from 'vitest';
import { eventSources, eventSubscription } from '../../../src/resources/event-subscription.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const PATH = '/event_subscriptions';
const TYPE = 'ip_policy_created.v0';

const create = async (...types: string[]) =>
  (await admin.post(PATH, { sources: types.map((type) => ({ type })) })).as(eventSubscription.view).id;

test('every unknown type is named, on create and on update', async () => {
  const types = [TYPE, 'ip_polcy_created.v0', 'zzz'].map((type) => ({ type }));
  const replies = [await admin.post(PATH, { sources: types })];
  replies.push(await admin.patch(`${PATH}/${await create()}`, { sources: types }));
  for (const { error } of replies) {
    const { request_id: _, ...details } = error.details;
    expect(Object.keys(details)).toEqual(['/sources/1/type', '/sources/2/type']);
  }
});

test('a stored type that this release no longer has may be kept, but not added', async () => {
  const id = await create(TYPE);
  await api.rows(`update event_subscriptions set sources = array['old_created.v0'] where id = $1`, [id]);
  const sources = [{ type: 'old_created.v0' }];
  const kept = await admin.patch(`${PATH}/${id}`, { description: 'kept', sources });
  expect(kept.as(eventSubscription.view).sources).toMatchObject(sources);
  expect((await admin.post(PATH, { sources })).status).toBe(400);
});

describe('a source', () => {
  test('appears in the events of its subscription', async () => {
    const id = await create();
    const path = `${PATH}/${id}/sources`;
    await admin.post(path, { type: TYPE });
    await admin.delete(`${path}/${TYPE}`);
    const events = await api.rows('select payload from events where resource_id = $1 order by id', [id]);
    const sources = [[], [{ type: TYPE }], []];
    expect(events).toMatchObject(sources.map((each) => ({ payload: { sources: each } })));
  });

  test('is added once per idempotency key, until it is removed', async () => {
    const id = await create();
    const path = `${PATH}/${id}/sources`;
    const headers = { 'idempotency-key': 'source-1' };
    const add = (type = TYPE) => admin.post(path, { type }, headers);
    const first = await add();
    const again = await add();
    expect(again.text).toBe(first.text);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect((await add('user_created.v0')).status).toBe(422);
    for (const remove of [() => admin.delete(`${path}/${TYPE}`), () => admin.patch(`${PATH}/${id}`, { sources: [] })]) {
      await remove();
      const anew = await add();
      expect(anew.status).toBe(201);
      expect(anew.headers['idempotency-replayed']).toBeUndefined();
    }
    await admin.delete(`${PATH}/${id}`);
    expect((await add()).status).toBe(404);
  });

  test('is not lost when many are added at once', async () => {
    const path = `${PATH}/${await create()}/sources`;
    const types = ['ip_policy', 'credential', 'user', 'bot_user'].map((name) => `${name}_created.v0`);
    const replies = await Promise.all(types.map((type) => admin.post(path, { type })));
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const { sources } = (await admin.get(path)).as(eventSources);
    expect(sources.map(({ type }) => type).sort()).toEqual(types.toSorted());
  });
});
