import { expect, test } from 'vitest';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { startTestApi } from '../harness.ts';

const { admin } = await startTestApi();

const newPolicy = async () => (await admin.post('/ip_policies', {})).as(ipPolicy.view).id;
const rule = async (ip_policy_id: string, cidr = '10.0.0.0/8') =>
  (await admin.post('/ip_policy_rules', { ip_policy_id, cidr, action: 'allow' })).as(ipPolicyRule.view).id;

test('a rule may exist in several policies', async () => {
  const [one, other] = [await newPolicy(), await newPolicy()];
  expect(await rule(one)).not.toBe(await rule(other));
});

test('every change of a rule changes the ETag of its policy', async () => {
  const policy = await newPolicy();
  const etag = async () => (await admin.get(`/ip_policies/${policy}`)).headers.etag;
  const seen = [await etag()];
  const id = await rule(policy);
  seen.push(await etag());
  await admin.patch(`/ip_policy_rules/${id}`, { action: 'deny' });
  seen.push(await etag());
  await admin.patch(`/ip_policy_rules/${id}`, { action: 'deny' });
  expect(await etag()).toBe(seen.at(-1));
  await admin.delete(`/ip_policy_rules/${id}`);
  seen.push(await etag());
  expect(new Set(seen).size).toBe(4);
});

test('rules can be written while the whole set is replaced, without a deadlock', async () => {
  const policy = await newPolicy();
  const id = await rule(policy);
  const calls = Array.from({ length: 20 }, (_, n) => [
    admin.put(`/ip_policies/${policy}/rules`, {
      rules: [{ cidr: '10.0.0.0/8', action: 'allow', description: String(n) }],
    }),
    admin.patch(`/ip_policy_rules/${id}`, { metadata: String(n) }),
    admin.post('/ip_policy_rules', { ip_policy_id: policy, cidr: `192.0.2.${n}`, action: 'deny' }),
  ]);
  const statuses = (await Promise.all(calls.flat())).map(({ status }) => status);
  expect(statuses.filter((status) => status >= 400)).toEqual([]);
});
