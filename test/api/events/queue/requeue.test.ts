import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { attempt } from '../../../../src/api/events/delivery/attempt.ts';
import { healthOf } from '../../../../src/api/events/delivery/health.ts';
import { fanOut } from '../../../../src/api/events/queue/fan-out.ts';
import { replayDeliveries } from '../../../../src/api/events/queue/requeue.ts';
import { dueHeads, leaseOf, settle } from '../../../../src/api/events/queue/streams.ts';
import type { SentEvent } from '../../../../src/api/events/wire/cloud-event.ts';
import { claimLeases, releaseLeases } from '../../../../src/api/leases/leases.ts';
import { FIRST_ACCOUNT } from '../../../../src/resources/account.ts';
import { newId } from '../../../../src/resources/definition/id.ts';
import { eventDelivery, replayed } from '../../../../src/resources/event-delivery.ts';
import { eventDestination } from '../../../../src/resources/event-destination.ts';
import { eventSubscription } from '../../../../src/resources/event-subscription.ts';
import { ipPolicy } from '../../../../src/resources/ip-policy.ts';
import { startTestApi } from '../../harness.ts';

const api = await startTestApi();
const { admin, db } = api;
const target = { webhook: { url: 'https://hooks.tunnels.test/events' } };

afterEach(async () => {
  const tables = ['event_subscriptions', 'event_deliveries', 'event_streams', 'event_queue', 'leases'];
  for (const table of tables) await api.rows(`delete from ${table}`);
});

const newDestination = async () => (await admin.post('/event_destinations', { target })).as(eventDestination.view).id;
const sources = ['created', 'updated'].map((kind) => ({ type: `ip_policy_${kind}.v0` }));
const subscribe = async (to: string) =>
  (await admin.post('/event_subscriptions', { sources, destination_ids: [to] })).as(eventSubscription.view).id;
const newPolicy = async () => (await admin.post('/ip_policies')).as(ipPolicy.view).id;
const change = (id: string, description: string) => admin.patch(`/ip_policies/${id}`, { description });

/** Delivers everything that is due, and returns what was sent, as the pump would. */
async function deliver(to: string, delivered = true): Promise<SentEvent[]> {
  while (await fanOut(db));
  const sent: SentEvent[] = [];
  const courier = {
    async deliver(_: unknown, event: SentEvent) {
      sent.push(event);
      return delivered ? { delivered, status: 200, body: 'thanks' } : { delivered, error: 'it said no' };
    },
    close: async () => {},
  };
  const destination = { id: to, format: 'json', target, secrets: [] } as const;
  const health = healthOf(db, to, { pause: async () => {} });
  for (;;) {
    const heads = await dueHeads(db, to, { limit: 100, except: [] });
    if (heads.length === 0) break;
    const results = await Promise.all(
      heads.map((head) => attempt(head, { courier, destination, signal: new AbortController().signal })),
    );
    const leases = await claimLeases(db, [leaseOf(to)], { holder: 'test', ms: 60_000 });
    const [lease] = leases;
    if (!lease) throw new Error('not claimed');
    await settle(db, lease, results);
    await releaseLeases(db, leases);
    await health.note(results);
  }
  await health.flush();
  return sent;
}

const list = async (to: string) =>
  (await admin.get(`/event_deliveries?filter[destination_id]=${to}`)).as(
    z.object({ event_deliveries: z.array(eventDelivery.view) }),
  ).event_deliveries;
const redeliver = (id: string) => admin.post(`/event_deliveries/${id}/redeliver`, {});
const replay = async (to: string, body: object) =>
  (await admin.post(`/event_destinations/${to}/replay`, body)).as(replayed);
const streams = () => api.rows('select * from event_streams');
const BEGINNING = { since: '2020-01-01T00:00:00Z' };

describe('a delivery', () => {
  test('is sent again with its event id and sequence, after what is pending, although no subscription asks for it', async () => {
    const to = await newDestination();
    const subscription = await subscribe(to);
    const policy = await newPolicy();
    const [first] = await deliver(to);
    await change(policy, 'later');
    while (await fanOut(db));
    const [later, earlier] = await list(to);
    const again = (await redeliver(String(earlier?.id))).as(eventDelivery.view);
    expect(earlier).toMatchObject({ state: 'delivered', attempts: 1, status_code: 200, answer: 'thanks' });
    expect(again).toEqual({
      ...earlier,
      state: 'pending',
      attempts: 0,
      ...{ first_attempt_at: null, last_attempt_at: null, next_attempt_at: null, status_code: null, answer: null },
    });
    await admin.patch(`/event_subscriptions/${subscription}`, { destination_ids: [] });
    expect(await deliver(to)).toEqual([first]);
    const [dropped, done] = await list(to);
    expect(dropped).toMatchObject({ id: later?.id, state: 'dropped', error: /No subscription/ });
    expect(done).toMatchObject({ id: earlier?.id, state: 'delivered', attempts: 1 });
    expect(await streams()).toEqual([]);
  });

  test('that is sent again says nothing of the health of its destination', async () => {
    const to = await newDestination();
    await subscribe(to);
    await newPolicy();
    await deliver(to);
    const health = () =>
      api.rows('select last_success_at, last_failure_at, failing_since from event_destinations where id = $1', [to]);
    const before = await health();
    expect(before).toMatchObject([{ last_success_at: expect.any(String), failing_since: null }]);
    await redeliver(String((await list(to))[0]?.id));
    expect(await deliver(to, false)).toHaveLength(1);
    expect(await health()).toEqual(before);
    expect(await list(to)).toMatchObject([{ state: 'pending', attempts: 1, error: 'it said no' }]);
  });

  test('is sent at once if it waits for another attempt, by itself or with all others', async () => {
    const to = await newDestination();
    await subscribe(to);
    await newPolicy();
    const waits = async () => {
      await api.rows("update event_streams set next_at = now() + interval '1 hour'");
      expect(await deliver(to)).toEqual([]);
    };
    await deliver(to, false);
    const id = String((await list(to))[0]?.id);
    const url = 'https://other.tunnels.test/events';
    const ways = {
      redeliver: () => redeliver(id),
      resume: () => admin.post(`/event_destinations/${to}/resume`, {}),
      correct: () => admin.patch(`/event_destinations/${to}`, { target: { webhook: { url } } }),
    };
    for (const [way, ask] of Object.entries(ways)) {
      await waits();
      expect((await ask()).status, way).toBe(200);
      expect(await deliver(to, false), way).toHaveLength(1);
    }
    expect(await list(to)).toMatchObject([{ state: 'pending', attempts: 4 }]);
  });

  test('is not sent again without its destination or event', async () => {
    const to = await newDestination();
    await subscribe(to);
    await newPolicy();
    while (await fanOut(db));
    const id = String((await list(to))[0]?.id);
    await deliver(to);
    await api.rows('delete from events where id = (select event_id from event_deliveries)');
    expect((await redeliver(id)).error).toMatchObject({ error_code: 'CONFLICT', msg: /older than events are kept/ });
    await api.rows('update event_deliveries set destination_id = $1', [newId('ed')]);
    expect((await redeliver(id)).error).toMatchObject({ error_code: 'CONFLICT', msg: /has been deleted already/ });
    expect(await streams()).toEqual([]);
  });
});

describe('a replay', () => {
  test('sends what was created in a time again, in the order of each resource, and what is pending once', async () => {
    const [to, other] = [await newDestination(), await newDestination()];
    await subscribe(to);
    await subscribe(other);
    const policy = await newPolicy();
    for (const n of [1, 2, 3]) await change(policy, `${n}`);
    const sent = await deliver(to);
    await deliver(other);
    await change(policy, '4');
    while (await fanOut(db));
    expect(await replay(to, BEGINNING)).toEqual({ requeued: 4, next: null });
    expect(await replay(to, BEGINNING)).toEqual({ requeued: 0, next: null });
    const [pending, ...again] = await deliver(to);
    expect(pending?.data.description).toBe('4');
    expect(again).toEqual(sent);
    expect(await deliver(other)).toHaveLength(1);
    expect(await replay(to, { ...BEGINNING, until: '2020-01-02T00:00:00Z' })).toEqual({ requeued: 0, next: null });
  });

  test('of what has failed leaves the rest as it is', async () => {
    const to = await newDestination();
    await subscribe(to);
    const policies = [await newPolicy(), await newPolicy()];
    await deliver(to);
    await api.rows("update event_deliveries set state = 'failed' where resource_id = $1", [policies[1]]);
    expect(await replay(to, { ...BEGINNING, only: 'failed' })).toEqual({ requeued: 1, next: null });
    expect((await deliver(to)).map(({ subject }) => subject)).toEqual([policies[1]]);
  });

  test('that does not fit into one request goes on where it has ended', async () => {
    const to = await newDestination();
    await subscribe(to);
    const policies: string[] = [];
    for (let n = 0; n < 5; n++) policies.push(await newPolicy());
    await deliver(to);
    const all = {
      account: FIRST_ACCOUNT,
      since: new Date(0),
      until: new Date(Date.now() + 60_000),
      only: 'all' as const,
    };
    let last: string | undefined;
    const counts: number[] = [];
    do {
      const done = await replayDeliveries(db, to, { ...all, afterId: last, batch: 2, budgetMs: 0 });
      counts.push(done.requeued);
      last = done.last;
    } while (last !== undefined);
    expect(counts).toEqual([2, 2, 1]);
    expect((await deliver(to)).map(({ subject }) => subject).toSorted()).toEqual(policies.toSorted());
    const next = { since: '2020-01-01T00:00:00.000Z', until: '2030-01-01T00:00:00.000Z', only: 'all' };
    const [newest] = await list(to);
    expect(await replay(to, { ...next, after_id: newest?.id })).toEqual({ requeued: 0, next: null });
  });
});
