/** The limits of accounts, and their deletion, while others create something in them. */
import { expect, test } from 'vitest';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import type { Api } from '../../../src/api/http/operation.ts';
import { leaseOf, readJob } from '../../../src/api/issuance/jobs.ts';
import { recordIssued } from '../../../src/api/issuance/record.ts';
import { afterIssue } from '../../../src/api/issuance/renewal.ts';
import { createLeaseHolder } from '../../../src/api/leases/lease-holder.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { ACCOUNT_HEADER, account } from '../../../src/resources/account.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { ENCRYPTION_KEY, type Reply, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();

async function newAccount(quotas: object | null = null) {
  const { id } = (await api.admin.post('/accounts', { name: 'a team', quotas })).as(account.view);
  const header = { [ACCOUNT_HEADER]: id };
  return {
    id,
    header,
    post: (path: string, body: unknown, more = {}) => api.admin.post(path, body, { ...header, ...more }),
  };
}

const count = async (table: string, id: string) =>
  (await api.rows(`select count(*) from ${table} where account_id = $1`, [id]))[0]?.count;
const byStatus = (replies: readonly Reply[]) => Object.groupBy(replies, ({ status }) => status);

test('of 50 creates at once, exactly as many as the quota allows are made, and nothing is left of the others', async () => {
  const { id, header, post } = await newAccount({ ip_policies: 7 });
  const before = (await api.rows('select count(*) from events'))[0]?.count;
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, n) => post('/ip_policies', {}, n % 2 ? { 'idempotency-key': `quota-${n}` } : {})),
  );
  const { 201: made = [], 403: refused = [] } = byStatus(replies);
  expect([made.length, refused.length]).toEqual([7, 43]);
  expect(refused[0]?.error).toMatchObject({
    error_code: 'QUOTA_EXCEEDED',
    details: { family: 'ip_policies', limit: '7', used: '7' },
  });
  expect(await count('ip_policies', id)).toBe(7);
  expect(await count('events', id)).toBe(7);
  expect((await api.rows('select count(*) from events'))[0]?.count).toBe(Number(before) + 7);
  expect(await count('idempotency_keys', id)).toBe(made.filter((reply) => replies.indexOf(reply) % 2).length);
  const [gone] = made.map((reply) => reply.as(ipPolicy.view).id);
  await api.admin.delete(`/ip_policies/${gone}`, header);
  const again = await Promise.all(Array.from({ length: 10 }, () => post('/ip_policies', {})));
  expect(byStatus(again)[201]).toHaveLength(1);
});

test('a certificate that the service issues is stored whatever the quota, as is the one that replaces it', async () => {
  const { id, header, post } = await newAccount({ tls_certificates: 1 });
  const policy = { certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' } };
  const domain = (await post('/reserved_domains', { domain: 'quota.example.com', ...policy })).as(reservedDomain.view);
  const secrets = createSecrets([ENCRYPTION_KEY]);
  const leases = createLeaseHolder(api.db, {
    holder: 'tests',
    ms: 60_000,
    onError: (error) => expect.fail(String(error)),
  });
  const [held] = await leases.claim([leaseOf(domain.id)]);
  for (const used of [1, 2]) {
    const now = new Date();
    const job = await readJob(api.db, secrets, domain.id, now);
    if (!held || !job) throw new Error('no job');
    const { pem, keyPem } = await makeCertificate({
      ca: false,
      names: [{ type: 'dns', value: 'quota.example.com' }],
    });
    const issued = { chain: pem, privateKey: keyPem, now };
    const progress = afterIssue(pem, now, null);
    const context = { ...api, secrets, eventBase: '' } as unknown as Api;
    expect(await recordIssued(context, held.lease, job, { ...issued, progress })).toBe(true);
    expect(await count('tls_certificates', id)).toBe(used);
  }
  await leases.stop();
  await api.admin.delete(`/reserved_domains/${domain.id}`, header);
});

test('rule sets and single rules share a quota, also at once', async () => {
  const { id, header, post } = await newAccount({ ip_policy_rules: 25 });
  const policies = await Promise.all(
    Array.from({ length: 10 }, async () => (await post('/ip_policies', {})).as(ipPolicy.view).id),
  );
  const rules = Array.from({ length: 4 }, (_, n) => ({ cidr: `10.${n}.0.0/16`, action: 'allow' }));
  const replies = await Promise.all(
    policies.flatMap((policy) => [
      api.admin.put(`/ip_policies/${policy}/rules`, { rules }, header),
      post('/ip_policy_rules', { ip_policy_id: policy, cidr: '192.0.2.0/24', action: 'deny' }),
    ]),
  );
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 201, 403]));
  const used = Number(await count('ip_policy_rules', id));
  expect(used).toBeGreaterThan(20);
  expect(used).toBeLessThanOrEqual(25);
});

test('families, and accounts, do not wait for one another', async () => {
  const [one, other] = [await newAccount({ ip_policies: 5, users: 5 }), await newAccount({ ip_policies: 5 })];
  await api.db.within(one.id).transaction(async (tx) => {
    await tx.query({ text: INSERT, values: ['ipp_held'] });
    expect((await one.post('/users', { name: 'Ada' })).status).toBe(201);
    expect((await other.post('/ip_policies', {})).status).toBe(201);
  });
});

const INSERT = 'insert into ip_policies (id, created_at, updated_at) values ($1, now(), now())';

test('the deletion of an account waits for what is being created in it, and is refused then', async () => {
  const { id } = await newAccount();
  let deletion: Promise<Reply> | undefined;
  await api.db.within(id).transaction(async (tx) => {
    await tx.query({ text: INSERT, values: ['ipp_first'] });
    deletion = api.admin.delete(`/accounts/${id}`);
    await untilWaiting(api, 1);
  });
  expect((await deletion)?.error).toMatchObject({
    error_code: 'RESOURCE_IN_USE',
    details: { ip_policies: 'belong to it' },
  });
});

test('nothing can be created in an account once its deletion has begun', async () => {
  const { id, post } = await newAccount();
  let creates: Promise<Reply>[] = [];
  await api.db.transaction(async (tx) => {
    await tx.query({ text: 'select pg_advisory_xact_lock(1211004330, hashtext($1))', values: [id] });
    await tx.query({ text: 'delete from accounts where id = $1', values: [id] });
    creates = [post('/ip_policies', {}), post('/ip_policies', {}, { 'idempotency-key': 'late' })];
    await untilWaiting(api, 2);
  });
  for (const reply of await Promise.all(creates)) expect(reply.error.error_code).toBe('CONFLICT');
  expect([await count('ip_policies', id), await count('events', id), await count('idempotency_keys', id)]).toEqual([
    0, 0, 0,
  ]);
});
