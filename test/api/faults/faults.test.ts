import { describe, expect, test } from 'vitest';
import { createDatabase } from '../../../dev/database/databases.ts';
import { startPostgres } from '../../../dev/database/postgres.ts';
import { transientCondition } from '../../../src/api/store/database-errors.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { atEnd } from '../../end-of-file.ts';
import { createTestDatabase } from '../../harness.ts';
import { deadlocks, emptyDatabase, heldTransaction, startTestApi, untilWaiting } from '../harness.ts';
import { unavailable } from './cut-points.ts';
import { WireProxy } from './wire-proxy.ts';

describe('while the database is down', async () => {
  const server = await startPostgres();
  atEnd(() => server.stop());
  const databaseUrl = await createDatabase(server.url, 'faults');
  await migrate(databaseUrl);
  const api = await startTestApi({ databaseUrl, connectTimeoutMs: 2_000 });
  const { admin } = api;

  test('every operation returns 503 in the usual shape, and works again once the database is back', async () => {
    const { id } = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
    await server.crash();
    for (const call of [
      admin.get('/ip_policies'),
      admin.get(`/ip_policies/${id}`),
      admin.post('/ip_policies', {}),
      admin.post('/ip_policies', {}, { 'idempotency-key': 'while-gone' }),
      admin.patch(`/ip_policies/${id}`, { description: 'x' }),
      admin.put(`/ip_policies/${id}/rules`, { rules: [] }),
      admin.delete(`/ip_policies/${id}`),
    ]) {
      unavailable(await call);
    }
    unavailable(await api.anonymous.get('/readyz'));
    expect((await api.anonymous.get('/metrics')).text).toMatch(
      /_count\{method="GET",route="\/readyz",status_code="503"\} 1/,
    );
    expect((await api.anonymous.get('/healthz')).status).toBe(200);
    expect((await api.anonymous.get('/metrics')).status).toBe(200);
    await server.restart();
    expect((await admin.get(`/ip_policies/${id}`)).status).toBe(200);
    expect((await api.anonymous.get('/readyz')).status).toBe(200);
  });
});

describe('while the database does not respond', async () => {
  const databaseUrl = await emptyDatabase();
  const proxy = await WireProxy.start(databaseUrl);
  atEnd(() => proxy.close());
  const api = await startTestApi({ databaseUrl: proxy.url, poolSize: 3, statementTimeoutMs: 100 });

  test('a transaction fails after one timeout, without a second one for its rollback', async () => {
    const begun = Promise.withResolvers<void>();
    const frozen = Promise.withResolvers<void>();
    const select = { text: 'select 1', values: [] };
    const transaction = api.db.transaction(async (tx) => {
      await tx.query(select);
      begun.resolve();
      await frozen.promise;
      await tx.query(select);
    });
    await begun.promise;
    proxy.freeze();
    frozen.resolve();
    // Counts timeouts that follow each other on other connections, as a clock.
    const waits: unknown[] = [];
    let isOver = false;
    const waiting = (async () => {
      while (!isOver) waits.push(await api.db.query(select).catch((error: unknown) => error));
    })();
    await expect(transaction.finally(() => (isOver = true))).rejects.toSatisfy(
      (error) => transientCondition(error) !== undefined,
    );
    expect(waits.length).toBeLessThan(2);
    proxy.thaw();
    await waiting;
  });
});

describe('while the database is up', async () => {
  const api = await startTestApi({ poolSize: 2, statementTimeoutMs: 2_500 });
  const { admin } = api;

  async function blockedChange() {
    const { id } = (await admin.post('/ip_policies', { description: 'a' })).as(ipPolicy.view);
    const held = await heldTransaction(api.databaseUrl);
    await held.query('select 1 from ip_policies where id = $1 for update', [id]);
    return { id, held, change: admin.patch(`/ip_policies/${id}`, { description: 'b' }) };
  }

  test('a connection that is cut during a transaction gives a 503, and the change is rolled back', async () => {
    const { id, held, change } = await blockedChange();
    await untilWaiting(api, 1);
    await held.query(`select pg_terminate_backend(pid) from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock'`);
    unavailable(await change);
    await held.rollback();
    expect((await admin.get(`/ip_policies/${id}`)).as(ipPolicy.view).description).toBe('a');
  });

  test('a statement that takes too long gives a 503', async () => {
    const { held, change } = await blockedChange();
    unavailable(await change);
    await held.rollback();
  });

  test('the API does not start without its schema', async () => {
    const databaseUrl = await createTestDatabase();
    await migrate(databaseUrl, []);
    await expect(startTestApi({ databaseUrl })).rejects.toThrow(/does not exist/);
  });
});

describe('with a lock held elsewhere', async () => {
  const api = await startTestApi({ poolSize: 2 });
  const { admin } = api;

  test('a deadlock is resolved without the caller noticing', async () => {
    const policy = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
    const body = { ip_policy_id: policy.id, cidr: '10.0.0.0/8', action: 'allow' };
    const rule = (await admin.post('/ip_policy_rules', body)).as(ipPolicyRule.view);
    const [first, second] = [await heldTransaction(api.databaseUrl), await heldTransaction(api.databaseUrl)];
    for (const held of [first, second])
      await held.query('select 1 from ip_policy_rules where id = $1 for share', [rule.id]);
    const change = admin.patch(`/ip_policy_rules/${rule.id}`, { action: 'deny' });
    // The PATCH waits for each holder in turn, with one deadlock check per wait. Close the cycle before the second.
    await untilWaiting(api, 1);
    await second.query("set local deadlock_timeout = '1min'");
    const other = second.query('update ip_policies set description = $2 where id = $1', [policy.id, 'held']);
    await untilWaiting(api, 2);
    await first.commit();
    await other;
    await second.commit();
    expect((await change).as(ipPolicyRule.view).action).toBe('deny');
    // There may be several if the other session is slow to wake up.
    expect(await deadlocks(api, 2)).toBeGreaterThan(0);
  });
});
