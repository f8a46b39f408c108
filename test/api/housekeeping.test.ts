import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startHousekeeping } from '../../src/api/housekeeping.ts';
import { firstIdAt } from '../../src/resources/definition/id.ts';
import { eventDestination } from '../../src/resources/event-destination.ts';
import { startTestApi } from './harness.ts';

const { admin, anonymous, app, db, rows, logs } = await startTestApi();

const HOUR = 3_600_000;
const TEN_MINUTES = 600_000;

async function oldEvent(): Promise<void> {
  const at = new Date(Date.now() - 2 * HOUR);
  const text = `insert into events (id, type, occurred_at, actor, resource_id, payload) values ($1, 'user_created.v0', $2, 'x', 'x', '{}')`;
  await rows(text, [firstIdAt('ev', at), at.toISOString()]);
}
async function oldEvents(): Promise<number> {
  const [row] = await rows('select count(*) as count from events where occurred_at < $1', [
    new Date(Date.now() - HOUR).toISOString(),
  ]);
  return Number(row?.count);
}

let ending: AbortController;
beforeEach(() => {
  ending = new AbortController();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  ending.abort();
  vi.useRealTimers();
});
const start = () =>
  startHousekeeping(db, {
    eventRetentionMs: HOUR,
    eventDeliveryRetentionMs: HOUR,
    logger: app.log,
    signal: ending.signal,
  });

test('deletes old events at start and every ten minutes, until it is stopped', async () => {
  await oldEvent();
  const done = start();
  await done();
  expect(await oldEvents()).toBe(0);
  for (let round = 0; round < 2; round++) {
    await oldEvent();
    vi.advanceTimersByTime(TEN_MINUTES - 1);
    await done();
    expect(await oldEvents()).toBe(1);
    vi.advanceTimersByTime(1);
    await done();
    expect(await oldEvents()).toBe(0);
  }
  ending.abort();
  await oldEvent();
  vi.advanceTimersByTime(TEN_MINUTES);
  await done();
  expect(await oldEvents()).toBe(1);
});

test('logs and counts the deleted events, and logs nothing when there are none', async () => {
  const counted = async () =>
    Number(/^tunnel_api_events_pruned_total (\d+)$/m.exec((await anonymous.get('/metrics')).text)?.[1]);
  const logged = () => logs.filter((line) => line.includes('deleted events')).map((line) => JSON.parse(line).deleted);
  await start()();
  const [before, first] = [await counted(), logged().length];
  await start()();
  expect([await counted(), logged().length]).toEqual([before, first]);
  await oldEvent();
  await start()();
  expect([await counted(), logged().slice(first)]).toEqual([before + 1, [1]]);
});

test('deletes old deliveries, what deleted destinations leave behind, and leases that ended a day ago', async () => {
  const added = `insert into event_deliveries (id, created_at, destination_id, subscription_ids, event_id, seq, type, resource_id, state)
    values ($1, $2, 'ed_gone', '{}', 'ev_gone', 1, 'x', 'x', $3)`;
  const at = (ago: number) => [firstIdAt('evd', new Date(Date.now() - ago)), new Date(Date.now() - ago).toISOString()];
  await rows(added, [...at(2 * HOUR), 'delivered']);
  await rows(added, [...at(0), 'pending']);
  await rows(
    "insert into event_streams (destination_id, resource_id, pending, next_at) values ('ed_gone', 'x', 1, now())",
  );
  await rows(`insert into leases (name, holder, fence, until) values
    ('old', 'x', 1, now() - interval '25 hours'), ('recent', 'x', 1, now() - interval '23 hours')`);
  await start()();
  expect(await rows('select 1 from event_deliveries union all select 1 from event_streams')).toEqual([]);
  expect(await rows('select name from leases')).toEqual([{ name: 'recent' }]);
});

test('deletes a replaced signing secret when its overlap has ended, and not before', async () => {
  const target = { webhook: { url: 'https://hooks.tunnels.test/' } };
  const made = async () => (await admin.post('/event_destinations', { target })).as(eventDestination.view).id;
  const [ended, current] = [await made(), await made()];
  for (const id of [ended, current]) await admin.post(`/event_destinations/${id}/rotate_secret`);
  const shown = (await admin.get(`/event_destinations/${ended}`)).as(eventDestination.view);
  await rows("update event_destinations set previous_signing_secret_until = now() - interval '1 s' where id = $1", [
    ended,
  ]);
  await start()();
  expect(await rows('select id from event_destinations where sealed_previous_signing_secret is not null')).toEqual([
    { id: current },
  ]);
  const reply = await admin.get(`/event_destinations/${ended}`);
  expect(reply.as(eventDestination.view).previous_signing_secret_until).toBeNull();
  // What a client has read before may be sent back.
  const { previous_signing_secret_until } = shown;
  const sentBack = { previous_signing_secret_until, description: 'x' };
  expect((await admin.patch(`/event_destinations/${ended}`, sentBack)).status).toBe(200);
});

test('logs a failed round, and deletes old events again in the next one', async () => {
  await rows('alter table events rename to events_away');
  const done = start();
  await done();
  expect(logs.filter((line) => line.includes('could not delete old events'))).toHaveLength(1);
  await rows('alter table events_away rename to events');
  await oldEvent();
  vi.advanceTimersByTime(TEN_MINUTES);
  await done();
  expect(await oldEvents()).toBe(0);
});
