import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { type Pump, type PumpOptions, startPump } from '../../../../src/api/events/delivery/pump.ts';
import { backlogOf } from '../../../../src/api/events/queue/backlog.ts';
import { fanOut } from '../../../../src/api/events/queue/fan-out.ts';
import { leaseOf, settle } from '../../../../src/api/events/queue/streams.ts';
import type { SentEvent } from '../../../../src/api/events/wire/cloud-event.ts';
import type { Courier } from '../../../../src/api/events/wire/courier.ts';
import type { Answer } from '../../../../src/api/events/wire/sender.ts';
import { claimLeases } from '../../../../src/api/leases/leases.ts';
import type { Outcome } from '../../../../src/api/telemetry/event-metrics.ts';
import { eventDestination } from '../../../../src/resources/event-destination.ts';
import { eventSubscription } from '../../../../src/resources/event-subscription.ts';
import { ipPolicy } from '../../../../src/resources/ip-policy.ts';
import { startTestApi } from '../../harness.ts';
import { untilNothingIsOverdue } from '../overdue.ts';
import { courier as httpCourier, receiver, webhook } from '../wire/receiver.ts';

const api = await startTestApi();
const { admin, db } = api;
const target = { webhook: { url: 'https://hooks.tunnels.test/events' } };

interface Sent {
  to: string;
  event: SentEvent;
}

/** A courier whose receivers answer as `answer` says. */
function courier(answer: (sent: Sent) => Answer | Promise<Answer> = () => ({ delivered: true, status: 200 })) {
  const sent: Sent[] = [];
  const it: Courier = {
    async deliver({ id }, event) {
      sent.push({ to: id, event });
      return answer({ to: id, event });
    },
    close: async () => {},
  };
  return { it, sent };
}

const pumps: Pump[] = [];
function pump(it: Courier, { pause = async () => {}, ...options }: Partial<PumpOptions> = {}): Pump {
  const started = startPump({
    db,
    courier: it,
    open: async (id) => ({ id, format: 'json', target, secrets: [] }),
    pause,
    holder: 'test',
    onError: (error) => expect.unreachable(String(error)),
    pollMs: 20,
    leaseMs: 600,
    drainMs: 20,
    ...options,
  });
  pumps.push(started);
  return started;
}
afterEach(async () => {
  if (pumps.length > 0) await untilNothingIsOverdue(api.rows);
  for (const each of pumps.splice(0)) await each.stop();
  for (const table of ['event_subscriptions', 'event_streams', 'event_queue']) await api.rows(`delete from ${table}`);
});

const destination = async () => (await admin.post('/event_destinations', { target })).as(eventDestination.view).id;
const subscribe = async (types: string[], destination_ids: string[]) =>
  (await admin.post('/event_subscriptions', { sources: types.map((type) => ({ type })), destination_ids })).as(
    eventSubscription.view,
  ).id;
const newPolicy = async () => (await admin.post('/ip_policies')).as(ipPolicy.view).id;

test('every change of a type goes to each destination once, in the order of the changes of a resource', async () => {
  const [one, two] = [await destination(), await destination()];
  const { it, sent } = courier();
  await newPolicy();
  await subscribe(['ip_policy_created.v0', 'ip_policy_updated.v0'], [one, two]);
  await subscribe(['ip_policy_updated.v0'], [two]);
  pump(it);
  const policies = [await newPolicy(), await newPolicy()];
  for (const id of policies)
    for (const n of [1, 2, 3]) await admin.patch(`/ip_policies/${id}`, { description: `${n}` });
  await expect.poll(() => sent.length).toBe(16);
  for (const to of [one, two]) {
    for (const id of policies) {
      const here = sent.filter((each) => each.to === to && each.event.subject === id);
      expect(here.map(({ event }) => event.data.description)).toEqual([null, '1', '2', '3']);
      const sequences = here.map(({ event }) => event.sequence);
      expect(sequences).toEqual(sequences.toSorted());
    }
  }
  await expect.poll(async () => (await api.rows('select * from event_streams')).length).toBe(0);
  expect(await api.rows('select * from event_queue')).toEqual([]);
});

test('a delivery that fails holds up its own resource, and no other', async () => {
  const to = await destination();
  await subscribe(['ip_policy_created.v0', 'ip_policy_updated.v0'], [to]);
  const bad = await newPolicy();
  let broken = true;
  const { it, sent } = courier(({ event }) => ({ delivered: !(broken && event.subject === bad), error: 'it said no' }));
  await admin.patch(`/ip_policies/${bad}`, { description: 'later' });
  const good = await newPolicy();
  pump(it);
  await expect.poll(() => sent.map(({ event }) => event.subject).toSorted()).toEqual([bad, good].toSorted());
  const rows = () =>
    api.rows('select state, attempts, error from event_deliveries where resource_id = $1 order by seq', [bad]);
  await expect.poll(rows).toEqual([
    { state: 'pending', attempts: 1, error: 'it said no' },
    { state: 'pending', attempts: 0, error: null },
  ]);
  broken = false;
  await api.rows('update event_streams set next_at = now()');
  await expect.poll(async () => (await rows()).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
  expect(sent.filter(({ event }) => event.subject === bad).map(({ event }) => event.type)).toEqual([
    'ip_policy_created.v0',
    'ip_policy_created.v0',
    'ip_policy_updated.v0',
  ]);
});

test('nothing is sent for a subscription that is deleted or no longer names the destination', async () => {
  const [kept, left, gone] = [await destination(), await destination(), await destination()];
  const first = await subscribe(['ip_policy_created.v0'], [kept, left]);
  const second = await subscribe(['ip_policy_created.v0'], [gone]);
  const { it, sent } = courier();
  await newPolicy();
  const started = pump(it);
  await expect.poll(() => sent.map(({ to }) => to).toSorted()).toEqual([kept, left, gone].toSorted());
  await started.stop();
  await newPolicy();
  while ((await api.rows('select 1 from event_queue')).length > 0) await fanOut(db);
  await admin.patch(`/event_subscriptions/${first}`, { destination_ids: [kept] });
  await admin.delete(`/event_subscriptions/${second}`);
  pump(it);
  await expect.poll(async () => (await api.rows('select * from event_streams')).length).toBe(0);
  expect(sent.slice(3).map(({ to }) => to)).toEqual([kept]);
});

test('nothing is sent while another process holds the lease of a destination, until it ends', async () => {
  const to = await destination();
  await subscribe(['ip_policy_created.v0'], [to]);
  const [dead] = await claimLeases(db, [leaseOf(to)], { holder: 'dead', ms: 60_000 });
  const { it, sent } = courier();
  pump(it);
  await newPolicy();
  await expect.poll(async () => (await api.rows('select 1 from event_streams')).length).toBe(1);
  expect(sent).toEqual([]);
  // As if it had not renewed for a minute.
  await api.rows("update leases set until = now() - interval '1 second'");
  await expect.poll(() => sent.length).toBe(1);
  if (!dead) throw new Error('not claimed');
  const [delivery] = await api.rows('select id, resource_id from event_deliveries where destination_id = $1', [to]);
  const late = { resourceId: String(delivery?.resource_id), id: String(delivery?.id), state: 'failed' as const };
  const nothing = { retryMs: null, attempted: false, statusCode: null, answer: null, error: null };
  expect(await settle(db, dead, [{ ...late, ...nothing }])).toBe(false);
});

test('a stop gives up deliveries to a receiver that hangs, and another process makes them at once', async () => {
  const to = await destination();
  await subscribe(['ip_policy_created.v0'], [to]);
  const hanging: Courier = {
    deliver: (_, __, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    close: async () => {},
  };
  // An hour: what is not released is not delivered in this test.
  const stopped = pump(hanging, { leaseMs: 3_600_000 });
  await newPolicy();
  const held = () => api.rows('select 1 from leases where until > clock_timestamp()');
  await expect.poll(async () => (await held()).length).toBe(1);
  await stopped.stop();
  expect(await held()).toEqual([]);
  const { it, sent } = courier();
  pump(it);
  await expect.poll(() => sent.length).toBe(1);
});

test('the backlog counts what waits, and for how long, except for a paused destination', async () => {
  const [active, paused] = [await destination(), await destination()];
  await subscribe(['ip_policy_created.v0'], [active, paused]);
  const before = await backlogOf(db);
  await newPolicy();
  await newPolicy();
  // Not fanned out yet, but due.
  await api.rows(
    "update events set occurred_at = now() - interval '1 hour' where id = (select event_id from event_queue order by seq limit 1)",
  );
  expect(Math.round((await backlogOf(db)).oldestDueSeconds / 60)).toBe(60);
  while ((await api.rows('select 1 from event_queue')).length > 0) await fanOut(db);
  await admin.post(`/event_destinations/${paused}/pause`);
  await api.rows("update event_streams set next_at = now() - interval '2 hours' where destination_id = $1", [paused]);
  await api.rows("update event_streams set next_at = now() - interval '30 minutes' where destination_id = $1", [
    active,
  ]);
  const { pending, pausedDestinations, oldestDueSeconds } = await backlogOf(db);
  expect([pending - before.pending, pausedDestinations - before.pausedDestinations]).toEqual([4, 1]);
  expect(Math.round(oldestDueSeconds / 60)).toBe(30);
  await api.rows("update event_streams set next_at = now() + interval '30 minutes'");
  expect((await backlogOf(db)).oldestDueSeconds).toBe(0);
});

test('attempts are observed with their results, and with the time of the change', async () => {
  const to = await destination();
  await subscribe(['ip_policy_created.v0'], [to]);
  const observed: Outcome[] = [];
  let isBroken = true;
  const { it } = courier(() => ({ delivered: !isBroken, error: 'it said no' }));
  pump(it, { observe: (outcomes) => void observed.push(...outcomes) });
  const id = await newPolicy();
  await expect.poll(() => observed.map(({ state }) => state)).toEqual(['pending']);
  isBroken = false;
  await api.rows('update event_streams set next_at = now()');
  await expect.poll(() => observed.map(({ state }) => state)).toEqual(['pending', 'delivered']);
  const [event] = await api.rows('select occurred_at from events where resource_id = $1', [id]);
  expect(observed.map(({ occurredAt }) => Date.parse(String(occurredAt)))).toEqual(
    Array(2).fill(Date.parse(String(event?.occurred_at))),
  );
});

test('receivers that do not answer hold up no other, however many there are', async () => {
  const hanging = [await destination(), await destination(), await destination()];
  const live = await destination();
  await subscribe(['ip_policy_created.v0'], hanging);
  for (let n = 0; n < 4; n++) await newPolicy();
  const { it, sent } = courier(({ to }) => (to === live ? { delivered: true, status: 200 } : answered.promise));
  const answered = Promise.withResolvers<Answer>();
  pump(it, { inFlight: 4 });
  await expect.poll(() => sent.length).toBeGreaterThanOrEqual(6);
  await subscribe(['ip_policy_updated.v0'], [live]);
  const id = await newPolicy();
  await admin.patch(`/ip_policies/${id}`, { description: 'new' });
  await expect.poll(() => sent.filter(({ to }) => to === live)).toHaveLength(1);
  answered.resolve({ delivered: true, status: 200 });
});

test('destinations take turns if there are more than places', async () => {
  const [busy, other] = [await destination(), await destination()];
  await subscribe(['ip_policy_created.v0'], [busy]);
  await subscribe(['ip_policy_updated.v0'], [other]);
  const MANY = 150;
  const ids = await Promise.all(Array.from({ length: MANY }, newPolicy));
  // A slow receiver, whose events take several seconds.
  const { it, sent } = courier(async ({ to }) => {
    if (to === busy) await delay(300);
    return { delivered: true, status: 200 };
  });
  pump(it, { places: 1, turnMs: 1 });
  await expect.poll(() => sent.length).toBeGreaterThan(0);
  await admin.patch(`/ip_policies/${ids[0]}`, { description: 'new' });
  await expect.poll(() => sent.filter(({ to }) => to === other)).toHaveLength(1);
  expect(sent.length).toBeLessThan(MANY);
  await expect.poll(() => sent.length).toBe(MANY + 1);
});

test('a receiver says with Retry-After when the next attempt is made', async () => {
  const to = await destination();
  await subscribe(['ip_policy_created.v0'], [to]);
  const { port } = await receiver((response) => void response.writeHead(503, { 'retry-after': '120' }).end());
  pump(httpCourier(), { open: async (id) => webhook(port, '/', { id }) });
  await newPolicy();
  const attempted = `
    select d.state, d.attempts, d.status_code, extract(epoch from d.next_attempt_at - d.last_attempt_at)::float8 as waits,
           s.next_at = d.next_attempt_at as "isDueThen"
      from event_deliveries d join event_streams s using (destination_id, resource_id) where d.destination_id = $1`;
  await expect
    .poll(() => api.rows(attempted, [to]))
    .toEqual([{ state: 'pending', attempts: 1, status_code: 503, waits: 120, isDueThen: true }]);
});

test('a destination gets 16 requests at once, and never more', async () => {
  const MANY = 24;
  const to = await destination();
  await subscribe(['ip_policy_created.v0'], [to]);
  for (let n = 0; n < MANY; n++) await newPolicy();
  const held: ServerResponse[] = [];
  let most = 0;
  const { port, received } = await receiver((response) => {
    most = Math.max(most, held.push(response));
  });
  pump(httpCourier(), { open: async (id) => webhook(port, '/', { id }) });
  for (let answered = 0; answered < MANY; answered++) {
    await expect.poll(() => held.length).toBe(Math.min(16, MANY - answered));
    held.shift()?.writeHead(204).end();
  }
  expect(received).toHaveLength(MANY);
  expect(most).toBe(16);
});
