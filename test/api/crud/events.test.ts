import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sampleValues } from '../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../dev/fixtures/samples.ts';
import type { View } from '../../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
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

const values = await sampleValues();
const post = async (path: string, body: object) => (await admin.post(path, body)).as(z.looseObject({ id: z.string() }));

/** What only the creation response shows, as everything else shows it. */
const withoutSecret = (view: object) =>
  Object.fromEntries(['token', 'signing_secret'].flatMap((name) => (name in view ? [[name, null]] : [])));

describe('every change', () => {
  test.each(FAMILIES.map((family) => [family.name, family] as const))(
    'of a %s leaves one event with what it is then, and never a token',
    async (name, family) => {
      const { path, made } = await createSample(post, family, 'least', 1, values);
      const created = family.view.parse(made);
      const address = `${path}/${made.id}`;
      const updated = (await admin.patch(address, family.samples.change)).as(family.view);
      expect(updated).toMatchObject(family.samples.change);
      await admin.delete(address);
      const events = await eventsOf(String(made.id));
      expect(events.map(({ type }) => type)).toEqual([
        `${name}_created.v0`,
        `${name}_updated.v0`,
        `${name}_deleted.v0`,
      ]);
      expect(events.map(({ payload }) => payload)).toEqual([
        { ...created, ...withoutSecret(created) },
        updated,
        updated,
      ]);
      for (const { actor } of events) expect(actor).toBe(admin.id);
    },
  );

  test('names who made it', async () => {
    const bot = await api.newBot();
    const { id } = (await bot.post('/ip_policies', {})).as(ipPolicy.view);
    expect((await eventsOf(id)).map(({ actor }) => actor)).toEqual([bot.id]);
  });

  test('of many rules at once is one event of their policy', async () => {
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

  test('of very many rules at once is an event of bounded size', async () => {
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
});

describe('no event', () => {
  test('comes of a PATCH that changes nothing', async () => {
    const { id } = (await admin.post('/ip_policies', { description: 'a' })).as(ipPolicy.view);
    const before = await total();
    await admin.patch(`/ip_policies/${id}`, { description: 'a', metadata: null });
    expect(await total()).toBe(before);
  });

  test('comes of a replay', async () => {
    const headers = { 'idempotency-key': 'replayed' };
    await admin.post('/ip_policies', {}, headers);
    const before = await total();
    await admin.post('/ip_policies', {}, headers);
    expect(await total()).toBe(before);
  });

  test('comes of a change that fails, in whichever statement', async () => {
    const { id } = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
    const rule = { ip_policy_id: id, cidr: '10.0.0.0/8', action: 'allow' };
    await admin.post('/ip_policy_rules', rule);
    const bot = await api.newBot();
    const before = await total();
    expect((await admin.post('/ip_policy_rules', rule)).status).toBe(409);
    expect((await admin.post('/ip_policy_rules', rule, { 'idempotency-key': 'failed' })).status).toBe(409);
    expect((await admin.delete(`/bot_users/${bot.id}`)).status).toBe(409);
    expect((await admin.patch(`/ip_policies/${id}`, { description: 'x' }, { 'if-match': '"0"' })).status).toBe(412);
    expect(await total()).toBe(before);
  });

  test('exists without its change: where events cannot be written, nothing is', async () => {
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
});
