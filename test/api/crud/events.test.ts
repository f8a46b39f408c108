/** Events of rule sets, and changes whose event fails; test/conformance covers the events of all other writes. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { View } from '../../../src/resources/definition/resource.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

const event = z.object({
  id: z.string().regex(/^ev_/),
  type: z.string(),
  occurred_at: z.iso.datetime(),
  actor: z.string(),
  resource_id: z.string(),
  payload: z.record(z.string(), z.unknown()),
});
const eventsOf = async (id: string) =>
  z.array(event).parse(await api.rows('select * from events where resource_id = $1 order by id', [id]));
const total = async () => Number((await api.rows('select count(*) as n from events'))[0]?.n);

test('a change of many rules at once is one event of their policy', async () => {
  const policy = (await admin.post('/ip_policies', { description: 'a' })).as(ipPolicy.view);
  const path = `/ip_policies/${policy.id}`;
  const put = async (rules: object[]) =>
    (await admin.put(`${path}/rules`, { rules })).as(z.object({ ip_policy_rules: z.array(ipPolicyRule.view) }))
      .ip_policy_rules;
  const named = (rules: readonly View<typeof ipPolicyRule>[]) => ({
    count: rules.length,
    rules: rules.map(({ id, cidr, action }) => ({ id, cidr, action })),
  });
  const none = named([]);
  const before = await total();
  const first = await put(['10.0.0.0/8', '192.0.2.0/24'].map((cidr) => ({ cidr, action: 'allow', metadata: 'm' })));
  const second = await put([
    { cidr: '10.0.0.0/8', action: 'deny' },
    { cidr: '203.0.113.0/24', action: 'allow' },
  ]);
  await admin.delete(path);
  expect(await total()).toBe(before + 3);
  const events = (await eventsOf(policy.id)).slice(1);
  expect(events.map(({ type }) => type)).toEqual([
    'ip_policy_updated.v0',
    'ip_policy_updated.v0',
    'ip_policy_deleted.v0',
  ]);
  expect(events.map(({ payload }) => payload)).toEqual([
    { ...policy, rule_changes: { added: named(first), changed: none, removed: none } },
    {
      ...policy,
      rule_changes: {
        added: named(second.slice(1)),
        changed: {
          count: 1,
          rules: [{ ...named(second.slice(0, 1)).rules[0], fields: ['metadata', 'action'] }],
        },
        removed: named(first.slice(1)),
      },
    },
    { ...policy, rule_changes: { added: none, changed: none, removed: named(second) } },
  ]);
});

test.each([
  [0, undefined],
  [1, { removed: { count: 1 } }],
])('the event of the deletion of a policy with %i rules shows what was removed', async (count, expected) => {
  const { id } = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
  const rules = Array.from({ length: count }, () => ({ cidr: '10.0.0.0/8', action: 'allow' }));
  await admin.put(`/ip_policies/${id}/rules`, { rules });
  await admin.delete(`/ip_policies/${id}`);
  const { payload } = (await eventsOf(id)).at(-1) ?? expect.fail('there is no event');
  if (expected === undefined) expect(payload).not.toHaveProperty('rule_changes');
  else expect(payload.rule_changes).toMatchObject(expected);
});

test('the event of very many rules has a bounded size', async () => {
  const { id } = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
  const put = (action: string, n: number) => {
    const cidrs = Array.from({ length: 1000 }, (_, k) => `2001:db8:1234:5678:9abc:def0:${n}:${k.toString(16)}`);
    const large = { metadata: 'm'.repeat(500), action };
    return admin.put(`/ip_policies/${id}/rules`, { rules: cidrs.map((cidr) => ({ cidr, ...large })) });
  };
  for (const reply of [await put('allow', 1), await put('deny', 1), await put('deny', 2)]) {
    expect(reply.status).toBe(200);
  }
  await admin.delete(`/ip_policies/${id}`);
  const [, ...events] = await eventsOf(id);
  const list = z.object({ count: z.number(), rules: z.array(z.unknown()) });
  const counts = events.map(({ payload: { rule_changes } }) =>
    Object.values(z.record(z.string(), list).parse(rule_changes)).map(({ count, rules }) => {
      expect(rules).toHaveLength(count);
      return count;
    }),
  );
  expect(counts).toEqual([
    [1000, 0, 0],
    [0, 1000, 0],
    [1000, 0, 1000],
    [0, 0, 1000],
  ]);
  for (const { payload } of events) expect(JSON.stringify(payload).length).toBeLessThan(250_000);
});

test('a change whose event cannot be written fails and changes nothing', async () => {
  const { id } = (await admin.post('/ip_policies', { description: 'a' })).as(ipPolicy.view);
  await api.rows('alter table events add constraint broken check (false) not valid');
  try {
    expect((await admin.post('/ip_policies', { description: 'lost' })).error.error_code).toBe('INTERNAL_ERROR');
    expect((await admin.patch(`/ip_policies/${id}`, { description: 'b' })).status).toBe(500);
    expect((await admin.delete(`/ip_policies/${id}`)).status).toBe(500);
    expect((await admin.get(`/ip_policies/${id}`)).as(ipPolicy.view).description).toBe('a');
    expect(await api.rows("select 1 from ip_policies where description = 'lost'")).toEqual([]);
  } finally {
    await api.rows('alter table events drop constraint broken');
  }
});
