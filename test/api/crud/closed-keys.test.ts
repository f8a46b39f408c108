/** Idempotency keys that can no longer create anything. */
import { describe, expect, test } from 'vitest';
import { credential } from '../../../src/resources/credential.ts';
import { closedIdempotencyKey, idempotencyDigest } from '../../../src/resources/definition/idempotency.ts';
import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { BASE, type Caller, heldTransaction, startTestApi, untilWaiting } from '../harness.ts';
import { newKey, under } from './idempotency-keys.ts';

const api = await startTestApi();
const { admin } = api;

const TYPE = 'ip_policy_created.v0';

const close = async (caller: Caller, key: string) =>
  (await caller.put(`/idempotency_keys/${idempotencyDigest(key)}/closed`)).as(closedIdempotencyKey);

describe('a closed idempotency key', () => {
  test.each([
    ['deleted', (at: string) => admin.delete(`${at}/sources/${TYPE}`)],
    ['replaced', (at: string) => admin.patch(at, { sources: [] })],
    ['deleted with its subscription', (at: string) => admin.delete(at)],
  ])('names the source that it created until that is %s', async (_, remove) => {
    const key = newKey();
    const { id } = (await admin.post('/event_subscriptions', {})).as(eventSubscription.view);
    const at = `/event_subscriptions/${id}`;
    expect((await admin.post(`${at}/sources`, { type: TYPE }, under(key))).status).toBe(201);
    const resource = { id: `${id}/${TYPE}`, uri: `${BASE}${at}/sources/${TYPE}` };
    expect(await close(admin, key)).toEqual({ closed: true, resource });
    expect((await remove(at)).status).toBeLessThan(300);
    expect(await close(admin, key)).toEqual({ closed: true, resource: null });
  });

  test.each(['short', 'A'.repeat(64), 'g'.repeat(64)])('is addressed by its digest, not by %s', async (digest) => {
    expect((await admin.put(`/idempotency_keys/${digest}/closed`)).error.error_code).toBe('NOT_FOUND');
  });
});

describe('closing a key while a create under it is in progress', () => {
  /** A create that has claimed its key and waits for `held`, and a close that waits for the create. */
  async function race() {
    const key = newKey();
    const policy = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
    const held = await heldTransaction(api.databaseUrl);
    await held.query('select 1 from ip_policies where id = $1 for update', [policy.id]);
    const body = { ip_policy_id: policy.id, cidr: '10.0.0.0/8', action: 'allow' };
    const creating = admin.post('/ip_policy_rules', body, under(key));
    await untilWaiting(api, 1);
    const closing = close(admin, key);
    await untilWaiting(api, 2);
    return { key, policy, held, body, creating, closing };
  }

  test('reports the new resource if the create commits', async () => {
    const { key, held, body, creating, closing } = await race();
    await held.commit();
    const { id } = (await creating).as(ipPolicyRule.view);
    expect((await closing).resource?.id).toBe(id);
    expect((await admin.post('/ip_policy_rules', body, under(key))).error.details.idempotency_key).toBe('closed');
  });

  test('reports no resource if the create fails', async () => {
    const { key, policy, held, body, creating, closing } = await race();
    await held.query('delete from ip_policies where id = $1', [policy.id]);
    await held.commit();
    expect((await creating).error.details['/ip_policy_id']).toMatch(/does not exist/);
    expect((await closing).resource).toBeNull();
    expect((await admin.post('/ip_policy_rules', body, under(key))).error.details.idempotency_key).toBe('closed');
  });

  test('makes a create that comes second fail, unless the closing is rolled back', async () => {
    for (const [end, status] of [
      ['commit', 409],
      ['rollback', 201],
    ] as const) {
      const key = newKey();
      const held = await heldTransaction(api.databaseUrl);
      const text =
        'insert into idempotency_keys (principal, digest, created_at, closed_at) values ($1, $2, now(), now())';
      await held.query(text, [admin.id, idempotencyDigest(key)]);
      const creating = admin.post('/ip_policies', {}, under(key));
      await untilWaiting(api, 1);
      await held[end]();
      expect((await creating).status).toBe(status);
    }
  });

  test('never leaves a resource that the closed key does not name, in either order', async () => {
    for (let round = 0; round < 30; round++) {
      const key = newKey();
      const [created, closed] = await Promise.all([admin.post('/credentials', {}, under(key)), close(admin, key)]);
      if (created.status === 201) expect(closed.resource?.id).toBe(created.as(credential.view).id);
      else {
        expect(created.error.details.idempotency_key).toBe('closed');
        expect(closed.resource).toBeNull();
      }
    }
  });

  test('and deleting its resource at the same time leaves a closed key and no resource', async () => {
    for (let round = 0; round < 20; round++) {
      const key = newKey();
      const { id } = (await admin.post('/ip_policies', {}, under(key))).as(ipPolicy.view);
      await Promise.all([admin.delete(`/ip_policies/${id}`), close(admin, key)]);
      expect((await close(admin, key)).resource).toBeNull();
      expect((await admin.post('/ip_policies', {}, under(key))).status).toBe(409);
    }
  });
});
