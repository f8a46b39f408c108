import { expect, test } from 'vitest';
import { explainUniqueness, uniqueIndex } from '../../../src/api/crud/uniqueness.ts';
import { FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const db = api.db.within(FIRST_ACCOUNT);
const broken = { kind: 'unique', constraint: uniqueIndex(reservedDomain, 'domain') } as const;
const explain = (domain: string) =>
  explainUniqueness(reservedDomain, broken, { id: 'rd_new', created_at: '', revision: 1, domain }, db);

test('a value that is taken is a conflict that names the resource that has it', async () => {
  const domain = 'taken.example.com';
  const { id } = JSON.parse((await admin.post('/reserved_domains', { domain })).text);
  expect(await explain(domain)).toMatchObject({
    code: 'CONFLICT',
    details: { '/domain': `is already used by ${id}`, id },
  });
});

test('a value that has become free in the meantime is a temporary error, so worth a retry', async () => {
  expect(await explain('free.example.com')).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
});

test('a value that is taken under one parent is free under another', async () => {
  const create = async (path: string, body: object): Promise<string> =>
    JSON.parse((await admin.post(path, body)).text).id;
  const [policy, other] = [await create('/ip_policies', {}), await create('/ip_policies', {})];
  const rule = { cidr: '10.0.0.0/8', action: 'allow' };
  const id = await create('/ip_policy_rules', { ...rule, ip_policy_id: policy });
  const taken = { kind: 'unique', constraint: uniqueIndex(ipPolicyRule, 'cidr') } as const;
  const within = (ip_policy_id: string) =>
    explainUniqueness(ipPolicyRule, taken, { id: 'ipr_new', created_at: '', revision: 1, ...rule, ip_policy_id }, db);
  expect(await within(policy)).toMatchObject({
    code: 'CONFLICT',
    details: { '/cidr': `is already used by ${id}`, id },
  });
  expect(await within(other)).toMatchObject({ code: 'UNAVAILABLE' });
});

test.each([
  ['another index', { kind: 'unique', constraint: 'reserved_domains_pkey' }],
  ['an index of a field that is not unique', { kind: 'unique', constraint: uniqueIndex(reservedDomain, 'region') }],
  ['a foreign key of that name', { kind: 'missing', constraint: uniqueIndex(reservedDomain, 'domain') }],
] as const)('the violation of another constraint is not explained here: %s', async (_, violation) => {
  const row = { id: 'rd_new', created_at: '', revision: 1, domain: 'free.example.com' };
  expect(await explainUniqueness(reservedDomain, violation, row, db)).toBeUndefined();
});
