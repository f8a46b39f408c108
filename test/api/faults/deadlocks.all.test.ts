/** Concurrent writes that need the same locks, in different orders: each waits its turn, without a deadlock. */
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { eventTypes } from '../../../src/resources/definition/resource.ts';
import { deadlocks, heldTransaction, type Reply, startTestApi, untilWaiting } from '../harness.ts';

const POOL = 10;
const api = await startTestApi({ poolSize: POOL });
const { admin } = api;

const withId = z.looseObject({ id: z.string() });
const make = async (path: string, body: unknown = {}) => (await admin.post(path, body)).as(withId).id;
const times = <T>(count: number, act: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));
const orderOf = <T>(values: readonly T[], n: number) => (n % 2 ? values : values.toReversed());

afterEach(async () => expect(await deadlocks(api, POOL)).toBe(0));

interface Row {
  readonly name: string;
  /** Creates what the requests need. Returns a function that sends the nth request. */
  readonly prepare: () => Promise<(n: number) => Promise<Reply>>;
  /** The statuses that responses may have. */
  readonly statuses: readonly number[];
}

const rows: readonly Row[] = [
  {
    name: 'hostports move between edges of both kinds',
    statuses: [200, 409],
    async prepare() {
      await make('/reserved_domains', { domain: 'app.example.com' });
      const hostports = Array.from({ length: 6 }, (_, n) => `app.example.com:${8000 + n}`);
      const halves = [hostports.slice(0, 3), hostports.slice(3)];
      const paths = ['/edges/https', '/edges/tls', '/edges/https', '/edges/tls'];
      const edges = await times(4, async (n) => `${paths[n]}/${await make(paths[n] ?? '')}`);
      return (n) => {
        const wanted = halves[(n + Math.floor(n / 4)) % 2] ?? [];
        return admin.patch(edges[n % 4] ?? '', { hostports: n % 3 === 0 ? wanted.toReversed() : wanted });
      };
    },
  },
  {
    name: 'hostports are taken and freed while edges are created and deleted',
    statuses: [204, 409],
    async prepare() {
      await make('/reserved_domains', { domain: 'gone.example.com' });
      const wanted = Array.from({ length: 4 }, (_, n) => `gone.example.com:${8000 + n}`);
      return async (n) => {
        const path = n % 2 ? '/edges/https' : '/edges/tls';
        const made = await admin.post(path, { hostports: n % 3 ? wanted : wanted.toReversed() });
        if (made.status !== 201) return made;
        const edge = `${path}/${made.as(withId).id}`;
        await admin.patch(edge, { hostports: wanted.slice(n % 4) });
        return admin.delete(edge);
      };
    },
  },
  {
    name: 'references to several resources are set while their targets change',
    statuses: [200],
    async prepare() {
      const target = { webhook: { url: 'https://example.com/hook' } };
      const destinations = await times(6, () => make('/event_destinations', { format: 'json', target }));
      const subscriptions = await times(4, () => make('/event_subscriptions'));
      return (n) => {
        if (n % 4 === 0) return admin.patch(`/event_destinations/${destinations[n % 6]}`, { metadata: `${n}` });
        const some = orderOf(destinations, n).slice(n % 3 ? 0 : 3);
        return admin.patch(`/event_subscriptions/${subscriptions[n % 4]}`, { destination_ids: some });
      };
    },
  },
  {
    name: 'references in two fields are set and cleared while their targets are changed and deleted',
    statuses: [200, 204, 400, 404, 409],
    async prepare() {
      const [http, https] = await times(2, (n) => make('/endpoint_configurations', { type: n ? 'https' : 'http' }));
      const domains = await times(4, (n) => make('/reserved_domains', { domain: `d${n}.example.com` }));
      const both = { http_endpoint_configuration_id: http, https_endpoint_configuration_id: https };
      const none = { http_endpoint_configuration_id: null, https_endpoint_configuration_id: null };
      return (n) => {
        const configuration = `/endpoint_configurations/${n % 8 ? http : https}`;
        if (n % 4 === 0) return admin.patch(configuration, { metadata: `${n}` });
        if (n % 16 === 1) return admin.delete(configuration);
        return admin.patch(`/reserved_domains/${domains[n % 4]}`, n % 3 ? both : none);
      };
    },
  },
  {
    name: 'rules are created and deleted while the whole set is replaced',
    statuses: [200, 204, 404],
    async prepare() {
      const policy = await make('/ip_policies');
      const cidrs = Array.from({ length: 6 }, (_, n) => `10.${n}.0.0/16`);
      return async (n) => {
        const rules = orderOf(cidrs, n >> 1).map((cidr) => ({ cidr, action: n % 5 ? 'allow' : 'deny' }));
        if (n % 2) return admin.put(`/ip_policies/${policy}/rules`, { rules });
        const rule = { ip_policy_id: policy, cidr: `192.0.2.${n}`, action: 'deny' };
        return admin.delete(`/ip_policy_rules/${(await admin.post('/ip_policy_rules', rule)).as(withId).id}`);
      };
    },
  },
  {
    name: 'sources are added, with and without a key, and removed while their subscription changes',
    statuses: [200, 201, 204, 404, 409],
    async prepare() {
      const path = `/event_subscriptions/${await make('/event_subscriptions')}`;
      const types = ['ip_policy', 'user', 'bot_user'].map((name) => eventTypes(name).created);
      return (n) => {
        const type = types[n % 3];
        if (n % 4 === 0) return admin.delete(`${path}/sources/${type}`);
        if (n % 4 === 1) return admin.patch(path, { sources: types.toReversed().map((each) => ({ type: each })) });
        return admin.post(`${path}/sources`, { type }, n % 8 === 2 ? { 'idempotency-key': `${type}` } : {});
      };
    },
  },
  {
    name: 'modules change while edges are deleted',
    statuses: [200, 204, 404],
    async prepare() {
      const policies = await times(4, () => make('/ip_policies'));
      const edges = await times(6, () => make('/edges/tls'));
      return (n) => {
        if (n % 20 === 19) return admin.delete(`/edges/tls/${edges[n % 6]}`);
        if (n % 4 === 0) return admin.patch(`/ip_policies/${policies[n % 3]}`, { metadata: `${n}` });
        return admin.put(`/edges/tls/${edges[n % 6]}/ip_restriction`, { ip_policy_ids: orderOf(policies, n) });
      };
    },
  },
];

test.for(rows)('no deadlock occurs when $name', async ({ prepare, statuses }) => {
  const replies = await times(160, await prepare());
  const seen = new Set(replies.map(({ status }) => status));
  expect([...seen].filter((status) => !statuses.includes(status))).toEqual([]);
  expect(seen.has(200) || seen.has(204)).toBe(true);
});

test('a PATCH of a rule locks the policy before the rule, as a replacement of all rules does', async () => {
  const policy = await make('/ip_policies');
  const rule = await make('/ip_policy_rules', { ip_policy_id: policy, cidr: '192.0.2.0/24', action: 'deny' });
  const other = await heldTransaction(api.databaseUrl);
  await other.query('select 1 from ip_policies where id = $1 for update', [policy]);
  const changed = admin.patch(`/ip_policy_rules/${rule}`, { description: 'late' });
  await untilWaiting(api, 1);
  await other.query('select 1 from ip_policy_rules where id = $1 for update nowait', [rule]);
  await other.commit();
  expect((await changed).status).toBe(200);
});
