/** Many writes at once that take the same things in different orders: each waits its turn, none for one that waits for it. */
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventTypes } from '../../../src/resources/definition/resource.ts';
import { deadlocks, heldTransaction, type Reply, startTestApi, untilWaiting } from '../harness.ts';

const POOL = 10;
const api = await startTestApi({ poolSize: POOL });
const { admin } = api;

const withId = z.looseObject({ id: z.string() });
const make = async (path: string, body: unknown = {}) => (await admin.post(path, body)).as(withId).id;
const times = <T>(count: number, make: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)));
const statuses = (replies: readonly Reply[]) => [...new Set(replies.map(({ status }) => status))].sort();

afterEach(async () => expect(await deadlocks(api, POOL)).toBe(0));

describe('hostports', () => {
  const listening = z.looseObject({ hostports: z.array(z.string()) });
  const hostports = Array.from({ length: 6 }, (_, n) => `app.example.com:${8000 + n}`);

  test('change hands between edges of both kinds', async () => {
    await make('/reserved_domains', { domain: 'app.example.com' });
    const halves = [hostports.slice(0, 3), hostports.slice(3)];
    const edges: string[] = [];
    for (const path of ['/edges/https', '/edges/tls', '/edges/https', '/edges/tls']) {
      edges.push(`${path}/${await make(path, { hostports: halves[edges.length] ?? [] })}`);
    }
    const replies = await times(240, (n) => {
      const wanted = halves[(n + Math.floor(n / 4)) % 2] ?? [];
      return admin.patch(edges[n % 4] ?? '', { hostports: n % 3 === 0 ? wanted.toReversed() : wanted });
    });
    expect(statuses(replies)).toEqual([200, 409]);

    const shown = await times(4, async (n) => (await admin.get(edges[n] ?? '')).as(listening).hostports);
    const owners = edges.flatMap((edge, n) =>
      (shown[n] ?? []).map((hostport) => ({ hostport, edge_id: edge.split('/').at(-1) })),
    );
    expect(new Set(owners.map(({ hostport }) => hostport)).size).toBe(owners.length);
    const stored = await api.rows('select hostport, edge_id from edge_hostports');
    expect(new Set(stored.map((row) => JSON.stringify(row)))).toEqual(
      new Set(owners.map((row) => JSON.stringify(row))),
    );
  });

  test('are asked for together while an edge moves from one to the other', async () => {
    await make('/reserved_domains', { domain: 'moving.example.com' });
    const both = [8000, 8001].map((port) => `moving.example.com:${port}`);
    const edge = `/edges/https/${await make('/edges/https', { hostports: both.slice(0, 1) })}`;
    const replies = await times(200, (n) => {
      if (n % 2 === 0) return admin.post('/edges/tls', { hostports: both });
      return admin.patch(edge, { hostports: [both[((n - 1) / 2) % 2]] });
    });
    expect(statuses(replies)).toEqual([200, 409]);
  });

  test('are taken and freed while edges come and go', async () => {
    await make('/reserved_domains', { domain: 'gone.example.com' });
    const wanted = Array.from({ length: 4 }, (_, n) => `gone.example.com:${8000 + n}`);
    const replies = await times(120, async (n) => {
      const path = n % 2 ? '/edges/https' : '/edges/tls';
      const made = await admin.post(path, { hostports: n % 3 ? wanted : wanted.toReversed() });
      if (made.status !== 201) return made;
      const edge = `${path}/${made.as(withId).id}`;
      await admin.patch(edge, { hostports: wanted.slice(n % 4) });
      return admin.delete(edge);
    });
    expect(statuses(replies)).toEqual([204, 409]);
    expect(await api.rows("select 1 from edge_hostports where hostport like 'gone%'")).toEqual([]);
  });
});

describe('references', () => {
  test('to several resources are set while those change', async () => {
    const webhook = { url: 'https://example.com/hook' };
    const destinations = await times(6, () => make('/event_destinations', { format: 'json', target: { webhook } }));
    const subscriptions = await times(4, () => make('/event_subscriptions'));
    const replies = await times(160, (n) => {
      const destination_ids = n % 2 ? destinations : destinations.toReversed();
      if (n % 4 === 0) return admin.patch(`/event_destinations/${destinations[n % 6]}`, { metadata: `${n}` });
      const some = n % 3 ? destination_ids : destination_ids.slice(3);
      return admin.patch(`/event_subscriptions/${subscriptions[n % 4]}`, { destination_ids: some });
    });
    expect(statuses(replies)).toEqual([200]);
  });

  test('in two fields are set and dropped while their targets change and go', async () => {
    const configurations = await times(2, (n) => make('/endpoint_configurations', { type: n ? 'https' : 'http' }));
    const domains = await times(4, (n) => make('/reserved_domains', { domain: `d${n}.example.com` }));
    const replies = await times(160, (n) => {
      const [http, https] = configurations;
      if (n % 4 === 0)
        return admin.patch(`/endpoint_configurations/${configurations[(n / 4) % 2]}`, { metadata: `${n}` });
      if (n % 16 === 1) return admin.delete(`/endpoint_configurations/${configurations[n % 2]}`);
      const both = { http_endpoint_configuration_id: http, https_endpoint_configuration_id: https };
      const none = { http_endpoint_configuration_id: null, https_endpoint_configuration_id: null };
      return admin.patch(`/reserved_domains/${domains[n % 4]}`, n % 3 ? both : none);
    });
    for (const status of statuses(replies)) expect([200, 204, 400, 404, 409]).toContain(status);
  });
});

describe('what is in a resource', () => {
  test('rules come, change and go while the whole set is replaced', async () => {
    const policy = await make('/ip_policies');
    const cidrs = Array.from({ length: 6 }, (_, n) => `10.${n}.0.0/16`);
    const replies = await times(160, async (n) => {
      const rules = (n % 3 ? cidrs : cidrs.toReversed()).map((cidr) => ({ cidr, action: n % 5 ? 'allow' : 'deny' }));
      if (n % 2) return admin.put(`/ip_policies/${policy}/rules`, { rules });
      const made = await admin.post('/ip_policy_rules', { ip_policy_id: policy, cidr: `192.0.2.${n}`, action: 'deny' });
      return admin.delete(`/ip_policy_rules/${made.as(withId).id}`);
    });
    for (const status of statuses(replies)) expect([200, 204, 404]).toContain(status);
  });

  test.each([
    ['is changed', (path: string) => admin.patch(path, { description: 'late' }), 200],
    ['goes', (path: string) => admin.delete(path), 204],
  ])('a rule that %s does not take it before its policy', async (_, change, status) => {
    const policy = await make('/ip_policies');
    const rule = await make('/ip_policy_rules', { ip_policy_id: policy, cidr: '192.0.2.0/24', action: 'deny' });
    // As whoever replaces the rules takes both.
    const other = await heldTransaction(api.databaseUrl);
    await other.query('select 1 from ip_policies where id = $1 for update', [policy]);
    const changed = change(`/ip_policy_rules/${rule}`);
    await untilWaiting(api, 1);
    await other.query('select 1 from ip_policy_rules where id = $1 for update nowait', [rule]);
    await other.commit();
    expect((await changed).status).toBe(status);
  });

  test('who begins to refer to a resource keeps nobody from changing it, only from deleting it', async () => {
    const policy = await make('/ip_policies');
    const referring = await heldTransaction(api.databaseUrl);
    await referring.query('select 1 from ip_policies where id = $1 for key share', [policy]);
    const changes = await Promise.all([
      admin.patch(`/ip_policies/${policy}`, { description: 'changed' }),
      admin.put(`/ip_policies/${policy}/rules`, { rules: [{ cidr: '192.0.2.0/24', action: 'allow' }] }),
    ]);
    expect(statuses(changes)).toEqual([200]);
    const deleted = admin.delete(`/ip_policies/${policy}`);
    await untilWaiting(api, 1);
    await referring.commit();
    expect((await deleted).status).toBe(204);
  });

  test('sources come and go, with and without a key, while their subscription changes', async () => {
    const subscription = await make('/event_subscriptions');
    const types = ['ip_policy', 'user', 'bot_user'].map((name) => eventTypes(name).created);
    const replies = await times(160, (n) => {
      const type = types[n % 3];
      const path = `/event_subscriptions/${subscription}`;
      if (n % 4 === 0) return admin.delete(`${path}/sources/${type}`);
      if (n % 4 === 1) return admin.patch(path, { sources: types.toReversed().map((each) => ({ type: each })) });
      return admin.post(`${path}/sources`, { type }, n % 8 === 2 ? { 'idempotency-key': `${type}` } : {});
    });
    for (const status of statuses(replies)) expect([200, 201, 204, 404, 409]).toContain(status);
  });

  test('routes and their modules change while edges go', async () => {
    const policies = await times(4, () => make('/ip_policies'));
    const edges = await times(6, () => make('/edges/tls'));
    const replies = await times(160, (n) => {
      if (n % 20 === 19) return admin.delete(`/edges/tls/${edges[n % 6]}`);
      if (n % 4 === 0) return admin.patch(`/ip_policies/${policies[n % 3]}`, { metadata: `${n}` });
      const ip_policy_ids = n % 2 ? policies : policies.toReversed();
      return admin.put(`/edges/tls/${edges[n % 6]}/ip_restriction`, { ip_policy_ids });
    });
    for (const status of statuses(replies)) expect([200, 204, 404]).toContain(status);
  });
});

test('API keys change and delete each other and themselves, and make others', async () => {
  const one = z.object({ id: z.string(), token: z.string() });
  const end = (n: number) => new Date(Date.UTC(2900, 0, 1 + n)).toISOString();
  const expires_at = end(1000);
  const made = await times(4, async () => (await admin.post('/api_keys', { expires_at })).as(one));
  const callers = made.map(({ token }) => api.withKey(admin.id, token));
  const replies = await times(240, async (n) => {
    const [caller, target] = [callers[n % 4] ?? admin, made[Math.floor(n / 4) % 4]?.id];
    if (n % 8 === 0)
      return caller.post('/api_keys', { expires_at: end(0) }, n % 16 ? { 'idempotency-key': `${n}` } : {});
    if (n === 200) return admin.delete(`/api_keys/${target}`);
    return caller.patch(`/api_keys/${target}`, { expires_at: end(n) });
  });
  for (const status of statuses(replies)) expect([200, 201, 204, 400, 401, 404]).toContain(status);
  expect(statuses(replies)).toContain(200);
  expect(statuses(replies)).toContain(201);
});
