/** Which old records of creates the sweep empties, and which it deletes. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { CLOSED_KEPT_MS, sweep } from '../../../src/api/crud/idempotency.ts';
import { idempotencyDigest } from '../../../src/resources/definition/idempotency.ts';
import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { startTestApi } from '../harness.ts';
import { newKey, under } from './idempotency-keys.ts';

const api = await startTestApi();
const { admin } = api;

const close = (key: string) => admin.put(`/idempotency_keys/${idempotencyDigest(key)}/closed`);

test('a record loses its token after a day, and is deleted when it has been closed for 30 days', async () => {
  const [aged, young, closed, kept] = [newKey(), newKey(), newKey(), newKey()];
  for (const key of [aged, young]) await admin.post('/credentials', {}, under(key));
  for (const key of [closed, kept]) await close(key);
  const move = (key: string, column: string, interval: string) =>
    api.rows(`update idempotency_keys set ${column} = now() - interval '${interval}' where digest = $1`, [
      idempotencyDigest(key),
    ]);
  await move(aged, 'created_at', '24 hours 1 minute');
  await move(young, 'created_at', '23 hours 59 minutes');
  await move(closed, 'closed_at', '30 days 1 minute');
  await move(kept, 'closed_at', '29 days 23 hours 59 minutes');
  await sweep(api.db);
  const left = await api.rows('select digest, sealed_token is null as emptied from idempotency_keys');
  const of = (key: string) => left.find(({ digest }) => digest === idempotencyDigest(key));
  expect(of(aged)).toMatchObject({ emptied: true });
  expect(of(young)).toMatchObject({ emptied: false });
  expect([of(closed) === undefined, of(kept) === undefined]).toEqual([true, false]);
});

test('records age by the clock of the database: a process whose own clock is ahead deletes nothing', async () => {
  const key = newKey();
  await admin.post('/credentials', {}, under(key));
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * CLOSED_KEPT_MS });
  onTestFinished(() => void vi.useRealTimers());
  await sweep(api.db);
  const left = await api.rows('select 1 from idempotency_keys where digest = $1 and sealed_token is not null', [
    idempotencyDigest(key),
  ]);
  expect(left).toHaveLength(1);
});

test('a closed key is kept for as long as the resource that it created', async () => {
  const [kept, gone] = [newKey(), newKey()];
  const [policy, other] = await Promise.all(
    [kept, gone].map(async (key) => (await admin.post('/ip_policies', {}, under(key))).as(ipPolicy.view).id),
  );
  const subscription = (await admin.post('/event_subscriptions', {})).as(eventSubscription.view).id;
  const sources = `/event_subscriptions/${subscription}/sources`;
  const ofSource = newKey();
  await admin.post(sources, { type: 'ip_policy_created.v0' }, under(ofSource));
  for (const key of [kept, gone, ofSource]) await close(key);
  await api.rows("update idempotency_keys set closed_at = now() - interval '31 days' where closed_at is not null");
  await admin.delete(`/ip_policies/${other}`);
  const digests = async () => {
    await sweep(api.db);
    return (await api.rows('select digest from idempotency_keys')).map(({ digest }) => digest);
  };
  const left = await digests();
  expect([kept, gone, ofSource].map((key) => left.includes(idempotencyDigest(key)))).toEqual([true, false, true]);
  expect((await admin.post('/ip_policies', {}, under(kept))).error.details).toMatchObject({ resource_id: policy });
  await admin.delete(`${sources}/ip_policy_created.v0`);
  expect(await digests()).not.toContain(idempotencyDigest(ofSource));
});

test('a large number of records is swept in batches', async () => {
  const digest = (prefix: string) => `encode(sha256(('${prefix}' || n)::bytea), 'hex')`;
  const old = "now() - interval '31 days'";
  await api.rows(`insert into idempotency_keys (principal, digest, created_at, closed_at)
    select 'usr_many', ${digest('key')}, ${old}, ${old} from generate_series(1, 2500) n`);
  await api.rows(`insert into idempotency_scopes (principal, digest, sequence, closed_through, used_at)
    select 'usr_many', ${digest('scope')}, 1, 1, ${old} from generate_series(1, 2500) n`);
  const largest = { rows: 0 };
  const watched = {
    ...api.db,
    async query(statement: Parameters<typeof api.db.query>[0]) {
      const rows = await api.db.query(statement);
      largest.rows = Math.max(largest.rows, rows.length);
      return rows;
    },
  };
  await sweep(watched);
  for (const table of ['idempotency_keys', 'idempotency_scopes']) {
    expect(await api.rows(`select 1 from ${table} where principal = 'usr_many'`)).toEqual([]);
  }
  expect(largest.rows).toBe(1000);
});

test('a scope is forgotten a month after its last use, but not while something created in it exists', async () => {
  const [used, empty, young] = ['used', 'empty', 'young'] as const;
  await admin.post('/ip_policies', {}, { ...under(used), 'idempotency-scope': used, 'idempotency-sequence': '1' });
  for (const scope of [empty, young]) await admin.put(`/idempotency_scopes/${idempotencyDigest(scope)}/closed`);
  const aged = [used, empty].map(idempotencyDigest);
  const past = new Date(Date.now() - CLOSED_KEPT_MS - 1000).toISOString();
  await api.rows('update idempotency_scopes set used_at = $1 where digest = any($2)', [past, aged]);
  await sweep(api.db);
  const left = (await api.rows('select digest from idempotency_scopes')).map(({ digest }) => digest);
  expect([used, empty, young].map((scope) => left.includes(idempotencyDigest(scope)))).toEqual([true, false, true]);
});
