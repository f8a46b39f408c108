import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
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
/** Inserts an event of `hours` ago that was delivered `delivered` hours ago, or not at all. */
async function event(hours: number, { type = 'user_created.v0', delivered = undefined as number | undefined } = {}) {
  const at = new Date(now - hours * HOUR + made++);
  const id = firstIdAt('ev', at);
  await api.rows(
    `insert into events (id, type, occurred_at, actor, resource_id, payload, delivered_at)
     values ($1, $2, $3, 'usr_1', 'x', '{}', $4)`,
    [id, type, at.toISOString(), delivered === undefined ? null : new Date(now - delivered * HOUR).toISOString()],
  );
  return id;
}
const left = async () => (await api.rows('select id from events order by id')).map(({ id }) => id);

const target = { webhook: { url: 'https://hooks.tunnels.test' } };
const destination = (await admin.post('/event_destinations', { format: 'json', target })).as(eventDestination.view).id;
const subscribe = (type: string, destination_ids = [destination]) =>
  admin.post('/event_subscriptions', { sources: [{ type }], destination_ids });

beforeEach(async () => {
  await api.rows('delete from event_subscriptions');
  await api.rows('delete from events');
});

test('the smallest id of a moment sorts after earlier ids and before later ones', () => {
  const before = newId('ev');
  const bound = firstIdAt('ev', new Date(Date.now() + 2));
  expect(before < bound).toBe(true);
  expect(firstIdAt('ev', new Date(Date.now() - 1)) < newId('ev')).toBe(true);
});

describe('events', () => {
  test('without a subscription are kept for the retention time after they occurred', async () => {
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

  test('that were delivered are kept for the retention time after their delivery', async () => {
    await subscribe('user_created.v0');
    await api.rows('delete from events');
    await event(30, { delivered: 11 });
    const kept = await event(29, { delivered: 9 });
    expect(await pruneEvents(db, { keptMs, now })).toBe(1);
    expect(await left()).toEqual([kept]);
  });

  test('with a later subscription are kept until they are delivered', async () => {
    const wanted = await event(20, { type: 'user_updated.v0' });
    await event(20, { type: 'user_deleted.v0' });
    await subscribe('user_updated.v0');
    await subscribe('bot_user_created.v0');
    const [, ...others] = (await left()).filter((id) => id !== wanted);
    expect(await pruneEvents(db, { keptMs, now })).toBe(1);
    expect(await left()).toEqual([wanted, ...others]);
    await api.rows('update events set delivered_at = $1', [new Date(now - 11 * HOUR).toISOString()]);
    expect(await pruneEvents(db, { keptMs, now: now + HOUR })).toBe(1);
  });

  test('that are never delivered are kept for three times the retention time', async () => {
    await subscribe('user_created.v0');
    await api.rows('delete from events');
    await event(31);
    const kept = await event(29);
    expect(await pruneEvents(db, { keptMs, now })).toBe(1);
    expect(await left()).toEqual([kept]);
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
