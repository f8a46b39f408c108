import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MAX_PAGE_BYTES } from '../../../src/api/guard/bytes-in-flight.ts';
import { ACCOUNT_HEADER, account } from '../../../src/resources/account.ts';
import { apiKey } from '../../../src/resources/api-key.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ipPolicyRule, MAX_RULES_PER_POLICY } from '../../../src/resources/ip-policy-rule.ts';
import { user } from '../../../src/resources/user.ts';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const view = z.strictObject({ ip_policy_rules: z.array(ipPolicyRule.view), uri: z.string() });

const newPolicy = async () => (await admin.post('/ip_policies', {})).as(ipPolicy.view).id;
const put = (id: string, rules: unknown[], headers = {}) => admin.put(`/ip_policies/${id}/rules`, { rules }, headers);
const rulesOf = async (id: string) => (await admin.get(`/ip_policies/${id}/rules`)).as(view).ip_policy_rules;
const allow = (cidr: string, more = {}) => ({ cidr, action: 'allow', ...more });

describe('the rule set of an IP policy', () => {
  test('of the largest size may be written back as it was read', async () => {
    const id = await newPolicy();
    const blocks = Array.from({ length: MAX_RULES_PER_POLICY }, (_, n) => allow(`10.${n >> 8}.${n & 255}.0/24`));
    expect((await put(id, blocks)).status).toBe(200);
    const { text } = await admin.get(`/ip_policies/${id}/rules`);
    const again = await admin.put(`/ip_policies/${id}/rules`, text, { 'content-type': 'application/json' });
    expect([again.status, again.text]).toEqual([200, text]);
  });

  test('is not written if nothing would change', async () => {
    const id = await newPolicy();
    const set = [allow('10.0.0.0/8', { description: 'x' }), allow('192.0.2.1')];
    const first = await put(id, set);
    const state = 'select (select max(id) from events) as event, (select max(updated_at) from ip_policy_rules) as at';
    const before = await api.rows(state);
    const second = await put(id, [allow('192.0.2.1/32'), allow('10.0.0.0/8', { description: 'x', metadata: null })]);
    expect(second.text).toBe(first.text);
    expect(second.headers.etag).toBe(first.headers.etag);
    expect(await api.rows(state)).toEqual(before);
  });

  test('frees the idempotency keys of removed rules', async () => {
    const id = await newPolicy();
    const body = { ip_policy_id: id, ...allow('10.0.0.0/8') };
    const headers = { 'idempotency-key': 'rule-of-the-set' };
    const first = (await admin.post('/ip_policy_rules', body, headers)).as(ipPolicyRule.view);
    await put(id, []);
    const second = await admin.post('/ip_policy_rules', body, headers);
    expect(second.as(ipPolicyRule.view).id).not.toBe(first.id);
    expect(second.headers['idempotency-replayed']).toBeUndefined();
  });

  test('may repeat the id of the path in its body, but no other id', async () => {
    const id = await newPolicy();
    const path = `/ip_policies/${id}/rules`;
    expect((await admin.put(path, { id, rules: [] })).status).toBe(200);
    expect((await admin.put(path, { id: newId('ipp'), rules: [] })).error.details['/id']).toMatch(/path/);
    expect((await admin.put(path)).error.details['/rules']).toBe('is required');
  });

  test('is one of two concurrent replacements, never a mixture', async () => {
    const id = await newPolicy();
    const held = await heldTransaction(api.databaseUrl);
    await held.query('select 1 from ip_policies where id = $1 for update', [id]);
    const odd = [1, 3, 5].map((n) => allow(`10.${n}.0.0/16`));
    const even = [2, 4, 6].map((n) => allow(`10.${n}.0.0/16`));
    const calls = Promise.all([put(id, odd), put(id, even)]);
    await untilWaiting(api, 2);
    await held.commit();
    const sets = (await calls).map((reply) => reply.as(view).ip_policy_rules);
    expect(sets).toContainEqual(await rulesOf(id));
    expect(await rulesOf(id)).toHaveLength(3);
  });

  test('is always what was put last, whatever was there before', async () => {
    const id = await newPolicy();
    const blocks = fc.uniqueArray(fc.integer({ min: 0, max: 20 }), { maxLength: 12 });
    const action = fc.constantFrom('allow', 'deny');
    const set = blocks.chain((numbers) =>
      fc.tuple(
        ...numbers.map((n) =>
          fc.record({ cidr: fc.constant(`10.${n}.0.0/16`), action, description: fc.option(fc.constantFrom('a', 'b')) }),
        ),
      ),
    );
    await fc.assert(
      fc.asyncProperty(set, async (rules) => {
        const known = new Map((await rulesOf(id)).map((rule) => [rule.cidr, rule.id]));
        const shown = (await put(id, rules)).as(view).ip_policy_rules;
        expect(await rulesOf(id)).toEqual(shown);
        const wanted = rules.toSorted((a, b) => (a.cidr < b.cidr ? -1 : 1));
        expect(shown.map(({ cidr, action, description }) => ({ cidr, action, description }))).toEqual(wanted);
        for (const rule of shown) expect(rule.id).toBe(known.get(rule.cidr) ?? rule.id);
      }),
      { numRuns: 40 },
    );
  });

  test('of another account is not measured, even without row level security', async () => {
    const { databaseUrl, ...crowded } = await startTestApi({ bytesInFlight: { perKey: 2 * MAX_PAGE_BYTES } });
    const { id: theirs } = (await crowded.admin.post('/ip_policies', {})).as(ipPolicy.view);
    await crowded.rows('alter table ip_policy_rules disable row level security');
    const more = `
      insert into ip_policy_rules (id, created_at, updated_at, ip_policy_id, cidr, action, metadata)
      select n, now(), now(), $1, n, 'allow', repeat('x', 4096) from generate_series(1, 1 + $2 / 4096) n`;
    await crowded.rows(more, [theirs, 2 * MAX_PAGE_BYTES]);

    const there = { [ACCOUNT_HEADER]: (await crowded.admin.post('/accounts', { name: 'other' })).as(account.view).id };
    const owner = (await crowded.admin.post('/users', { name: 'other', admin: true }, there)).as(user.view).id;
    const key = (await crowded.admin.post('/api_keys', { owner_id: owner }, there)).as(apiKey.view);
    const other = crowded.withKey(owner, String(key.token));
    const { id: own } = (await other.post('/ip_policies', {})).as(ipPolicy.view);

    // A request that is still being handled, so that another one of that size would be too much.
    const held = await heldTransaction(databaseUrl);
    await held.query('select 1 from ip_policies where id = $1 for update', [own]);
    const pending = other.put(`/ip_policies/${own}/rules`, { rules: [] });
    await untilWaiting(crowded, 1);
    const { status } = await other.put(`/ip_policies/${theirs}/rules`, { rules: [] });
    await held.commit();
    expect([(await pending).status, status]).toEqual([200, 404]);
  });
});
