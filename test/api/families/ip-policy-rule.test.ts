import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/resources/definition/id.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ipPolicyRule, MAX_RULES_PER_POLICY } from '../../../src/resources/ip-policy-rule.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

const newPolicy = async () => (await admin.post('/ip_policies', {})).as(ipPolicy.view);
const rule = async (ip_policy_id: string, cidr: string, action = 'allow') =>
  (await admin.post('/ip_policy_rules', { ip_policy_id, cidr, action })).as(ipPolicyRule.view);

describe('an IP policy rule', () => {
  test('is created, shown, listed, changed and deleted like everything else', async () => {
    const policy = await newPolicy();
    const sent = { cidr: '10.0.0.0/8', action: 'deny', description: 'd', metadata: 'm' };
    const reply = await admin.post('/ip_policy_rules', { ...sent, ip_policy_id: policy.id });
    const created = reply.as(ipPolicyRule.view);
    expect(created).toMatchObject({ ...sent, ip_policy: { id: policy.id, uri: policy.uri } });
    expect(created.uri).toBe(`${BASE}/ip_policy_rules/${created.id}`);
    expect(created.id).toMatch(/^ipr_/);
    expect((await admin.get(`/ip_policy_rules/${created.id}`)).as(ipPolicyRule.view)).toEqual(created);
    const changed = await admin.patch(`/ip_policy_rules/${created.id}`, { action: 'allow', cidr: '10.1.0.0/16' });
    expect(changed.as(ipPolicyRule.view)).toEqual({ ...created, action: 'allow', cidr: '10.1.0.0/16' });
    expect((await admin.delete(`/ip_policy_rules/${created.id}`)).status).toBe(204);
    expect((await admin.get(`/ip_policy_rules/${created.id}`)).status).toBe(404);
  });

  test.each([
    ['192.0.2.1', '192.0.2.1/32'],
    ['2001:DB8:0:0::/32', '2001:db8::/32'],
    ['::ffff:0:0/96', '::ffff:0:0/96'],
    ['0.0.0.0/0', '0.0.0.0/0'],
  ])('shows %s as %s', async (sent, shown) => {
    const policy = await newPolicy();
    expect((await rule(policy.id, sent)).cidr).toBe(shown);
  });

  test.each([
    ['/cidr', { cidr: '10.0.0.1/8' }, /did you mean 10\.0\.0\.0\/8/],
    ['/cidr', { cidr: '300.0.0.0/8' }, /is not an IP address/],
    ['/cidr', { cidr: '10.0.0.0/33' }, /from 0 to 32/],
    ['/cidr', { cidr: 'fe80::1%eth0/64' }, /is not an IP address/],
    ['/cidr', { cidr: undefined }, /is required/],
    ['/action', { action: 'block' }, /"allow"|"deny"/],
    ['/ip_policy_id', { ip_policy_id: 'nonsense' }, /ipp_/],
    ['/ip_policy_id', { ip_policy_id: newId('ipp') }, /IP policy \w+ does not exist/],
    ['/cidrs', { cidrs: [] }, /unknown field/],
  ])('a wrong %s is refused by name: %o', async (pointer, wrong, reason) => {
    const policy = await newPolicy();
    const body = { ip_policy_id: policy.id, cidr: '10.0.0.0/8', action: 'allow', ...wrong };
    const { error } = await admin.post('/ip_policy_rules', body);
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details[pointer]).toMatch(reason);
  });

  test('exists once per block and policy, however the block is written', async () => {
    const policy = await newPolicy();
    const first = await rule(policy.id, '10.0.0.1');
    const body = { ip_policy_id: policy.id, cidr: '10.0.0.1/32', action: 'deny' };
    const { error } = await admin.post('/ip_policy_rules', body);
    expect(error).toMatchObject({ error_code: 'CONFLICT', details: { id: first.id } });
    expect((await rule((await newPolicy()).id, '10.0.0.1')).id).not.toBe(first.id);

    const second = await rule(policy.id, '10.0.0.2');
    const moved = await admin.patch(`/ip_policy_rules/${second.id}`, { cidr: '10.0.0.1' });
    expect(moved.error).toMatchObject({ error_code: 'CONFLICT', details: { id: first.id } });
  });

  test('stays with its policy', async () => {
    const created = await rule((await newPolicy()).id, '10.0.0.0/8');
    const { error } = await admin.patch(`/ip_policy_rules/${created.id}`, { ip_policy_id: (await newPolicy()).id });
    expect(error.details['/ip_policy_id']).toBe('cannot be changed');
  });

  test('goes with its policy', async () => {
    const policy = await newPolicy();
    const { id } = await rule(policy.id, '10.0.0.0/8');
    await admin.delete(`/ip_policies/${policy.id}`);
    expect((await admin.get(`/ip_policy_rules/${id}`)).status).toBe(404);
  });

  test('changes the ETag of its policy, whose rule set it is part of', async () => {
    const policy = await newPolicy();
    const etag = async () => (await admin.get(`/ip_policies/${policy.id}`)).headers.etag;
    const seen = [await etag()];
    const { id } = await rule(policy.id, '10.0.0.0/8');
    seen.push(await etag());
    await admin.patch(`/ip_policy_rules/${id}`, { action: 'deny' });
    seen.push(await etag());
    await admin.patch(`/ip_policy_rules/${id}`, { action: 'deny' });
    expect(await etag()).toBe(seen.at(-1));
    await admin.delete(`/ip_policy_rules/${id}`);
    seen.push(await etag());
    expect(new Set(seen).size).toBe(4);
  });

  test('is refused when the policy has as many as one may have', async () => {
    const policy = await newPolicy();
    const rules = Array.from({ length: MAX_RULES_PER_POLICY }, (_, n) => ({
      cidr: `10.${n >> 8}.${n & 255}.0/24`,
      action: 'allow',
    }));
    expect((await admin.put(`/ip_policies/${policy.id}/rules`, { rules })).status).toBe(200);
    const body = { ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'allow' };
    expect((await admin.post('/ip_policy_rules', body)).error.details['/ip_policy_id']).toMatch(/1000/);
  });

  test('can be made and deleted while the whole set is replaced, without a deadlock', async () => {
    const policy = await newPolicy();
    const { id } = await rule(policy.id, '10.0.0.0/8');
    const put = (n: number) => ({ rules: [{ cidr: '10.0.0.0/8', action: 'allow', description: String(n) }] });
    const calls = Array.from({ length: 20 }, (_, n) => [
      admin.put(`/ip_policies/${policy.id}/rules`, put(n)),
      admin.patch(`/ip_policy_rules/${id}`, { metadata: String(n) }),
      admin.post('/ip_policy_rules', { ip_policy_id: policy.id, cidr: `192.0.2.${n}`, action: 'deny' }),
    ]);
    const statuses = (await Promise.all(calls.flat())).map(({ status }) => status);
    expect(statuses.filter((status) => status >= 400)).toEqual([]);
  });
});
