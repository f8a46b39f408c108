import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { pruneDeliveries, pruneDestinations } from '../../../src/api/events/queue/delivery-retention.ts';
import { pruneEvents } from '../../../src/api/store/event-retention.ts';
import { LOCKS } from '../../../src/api/store/locks.ts';
import { firstIdAt, newId } from '../../../src/resources/definition/id.ts';
import { eventDestination } from '../../../src/resources/event-destination.ts';
import { heldTransaction, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { db, admin } = api;

const HOUR = 3_600_000;
const now = Date.now();
const keptMs = 10 * HOUR;

let made = 0;
/** Inserts an event of `hours` ago, and a delivery of it in this state. */
async function event(hours: number, state?: 'pending' | 'delivered') {
  const at = new Date(now - hours * HOUR + made++);
  const id = firstIdAt('ev', at);
  await api.rows(
    `insert into events (id, type, occurred_at, actor, resource_id, payload)
     values ($1, 'user_created.v0', $2, 'usr_1', 'x', '{}')`,
    [id, at.toISOString()],
  );
  if (state) await delivery(hours, state, { event_id: id });
  return id;
}
async function delivery(hours: number, state: string, { event_id = newId('ev'), lastAttempt = hours } = {}) {
  const at = new Date(now - hours * HOUR + made++);
  const id = firstIdAt('evd', at);
  await api.rows(
    `insert into event_deliveries
       (id, created_at, destination_id, subscription_ids, event_id, seq, type, resource_id, state, last_attempt_at)
     values ($1, $2, $3, '{}', $4, 1, 'user_created.v0', 'x', $5, $6)`,
    [id, at.toISOString(), destination, event_id, state, new Date(now - lastAttempt * HOUR).toISOString()],
  );
  return id;
}
const left = async (table = 'events') => (await api.rows(`select id from ${table} order by id`)).map(({ id }) => id);

const target = { webhook: { url: 'https://hooks.tunnels.test' } };
const destination = (await admin.post('/event_destinations', { format: 'json', target })).as(eventDestination.view).id;

beforeEach(async () => {
  for (const table of ['event_deliveries', 'event_queue', 'events']) await api.rows(`delete from ${table}`);
});

test('the smallest id of a moment sorts after earlier ids and before later ones', () => {
  const before = newId('ev');
  const bound = firstIdAt('ev', new Date(Date.now() + 2));
  expect(before < bound).toBe(true);
  expect(firstIdAt('ev', new Date(Date.now() - 1)) < newId('ev')).toBe(true);
});

describe('events', () => {
  test('are kept for the retention time after they occurred', async () => {
    await event(11);
    const kept = [await event(9), await event(0)];
    expect(await pruneEvents(db, { keptMs, now })).toBe(1);
    expect(await left()).toEqual(kept);
  });

  test('age by the clock of the database: a process whose own clock is ahead deletes nothing', async () => {
    const kept = await event(9);
    vi.useFakeTimers({ toFake: ['Date'], now: now + 100 * keptMs });
    onTestFinished(() => void vi.useRealTimers());
    expect(await pruneEvents(db, { keptMs })).toBe(0);
    expect(await left()).toEqual([kept]);
  });

  test('are kept while a delivery is pending or they are queued, but not longer than three times as long', async () => {
    await event(31, 'pending');
    const waiting = await event(29, 'pending');
    await event(28, 'delivered');
    const queued = await event(20);
    await api.rows("insert into event_queue (event_id, subscription_ids) values ($1, '{}')", [queued]);
    const later = await event(19);
    expect(await pruneEvents(db, { keptMs, now })).toBe(2);
    expect(await left()).toEqual([waiting, queued, later]);
    await api.rows('delete from event_queue');
    await api.rows("update event_deliveries set state = 'failed'");
    expect(await pruneEvents(db, { keptMs, now })).toBe(3);
  });

  test('are each deleted once when several processes prune at the same time', async () => {
    for (let n = 0; n < 40; n++) await event(20);
    const counts = await Promise.all(Array.from({ length: 5 }, () => pruneEvents(db, { keptMs, now, batch: 3 })));
    const rest = await pruneEvents(db, { keptMs, now, batch: 3 });
    expect(counts.reduce((sum, count) => sum + count, rest)).toBe(40);
    expect(await left()).toEqual([]);
  });

  test('are left alone while another process prunes', async () => {
    await event(20);
    const other = await heldTransaction(api.databaseUrl);
    await other.query('select pg_advisory_xact_lock($1)', [LOCKS.eventRetention]);
    expect(await pruneEvents(db, { keptMs, now })).toBe(0);
    await other.rollback();
    expect(await pruneEvents(db, { keptMs, now })).toBe(1);
  });
});

describe('deliveries', () => {
  test('are kept for the retention time after their last attempt, and as long as their event while they are pending', async () => {
    await delivery(11, 'delivered');
    await delivery(11, 'dropped');
    await delivery(11, 'pending');
    const kept = [
      await delivery(12, 'pending', { event_id: await event(12) }),
      await delivery(12, 'failed', { lastAttempt: 9 }),
      await delivery(9, 'delivered'),
    ];
    expect(await pruneDeliveries(db, { keptMs, now, batch: 2 })).toBe(3);
    expect(await left('event_deliveries')).toEqual(kept.toSorted());
  });

  test('of deleted destinations are deleted in batches, with their streams', async () => {
    const kept = await delivery(1, 'pending');
    for (let n = 0; n < 5; n++) await delivery(1, 'pending');
    await api.rows('update event_deliveries set destination_id = $1 where id <> $2', [newId('ed'), kept]);
    const streams = 'insert into event_streams select destination_id, id, 1, now() from event_deliveries';
    await api.rows(streams);
    expect(await pruneDestinations(db, { batch: 2 })).toBe(5);
    expect(await left('event_deliveries')).toEqual([kept]);
    expect(await api.rows('select destination_id from event_streams')).toEqual([{ destination_id: destination }]);
  });
});
