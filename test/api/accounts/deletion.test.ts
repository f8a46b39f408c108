/** The deletion of an account with something of every family in it, and of everything that goes with its resources. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { sampleValues } from '../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../dev/fixtures/samples.ts';
import { IN_ORDER_OF_DELETION } from '../../../src/api/accounts/deletion-order.ts';
import { startDeletionRunner } from '../../../src/api/accounts/deletion-runner.ts';
import { fanOut } from '../../../src/api/events/queue/fan-out.ts';
import { ACCOUNT_HEADER, account, FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { ACCOUNT_FAMILIES } from '../../../src/resources/account-families.ts';
import { apiKey } from '../../../src/resources/api-key.ts';
import { RESOURCE_MANAGER_HEADER, writeManager } from '../../../src/resources/definition/manager.ts';
import { atEnd } from '../../end-of-file.ts';
import { heldTransaction, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const values = await sampleValues();
const withId = z.looseObject({ id: z.string() });

let samples = 0;
/** An account with everything, and a key of its admin. */
async function team() {
  const { id } = (await admin.post('/accounts', { name: 'a team' })).as(account.view);
  const visiting = { [ACCOUNT_HEADER]: id };
  const owner = (await admin.post('/users', { name: 'Ada', admin: true }, visiting)).as(withId);
  const { token } = (await admin.post('/api_keys', { owner_id: owner.id }, visiting)).as(apiKey.view);
  const member = api.withKey(owner.id, z.string().parse(token));
  const made = async (path: string, body: object) =>
    (await member.post(path, body, { 'idempotency-key': `of-${id}-${samples++}` })).as(withId);
  for (const family of ACCOUNT_FAMILIES) await createSample(made, family, 'full', samples + 1, values);
  const edge = await made('/edges/tls', {});
  const policy = await made('/ip_policies', {});
  await member.put(`/edges/tls/${edge.id}/ip_restriction`, { ip_policy_ids: [policy.id] });
  await admin.post('/ip_policies', {}, { ...visiting, 'idempotency-key': `visiting-${id}` });
  await member.put(`/idempotency_keys/${'ab'.repeat(32)}/closed`);
  await member.put(`/idempotency_scopes/${'cd'.repeat(32)}/closed`);
  const destination = await made('/event_destinations', { target: { webhook: { url: 'https://hooks.example.com' } } });
  await made('/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.id],
  });
  const manager = writeManager({ id: 'cluster-1/object-1', namespace: 'default', kind: 'IPPolicy', name: 'office' });
  (await member.post('/ip_policies', {}, { [RESOURCE_MANAGER_HEADER]: manager })).as(withId);
  await fanOut(api.db);
  return { id, visiting, member };
}

/** The tables with rows of the account. */
async function held(id: string): Promise<Record<string, number>> {
  const tables = await api.rows(
    `select c.table_name as name from information_schema.columns c join information_schema.tables using (table_schema, table_name)
      where c.column_name = 'account_id' and c.table_schema = current_schema() and table_type = 'BASE TABLE' order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await api.rows(`select count(*) from ${String(name)} where account_id = $1`, [id]);
    if (Number(row?.count) > 0) counts[String(name)] = Number(row?.count);
  }
  return counts;
}

const failures: unknown[] = [];
const start = () => {
  const options = { db: api.db, eventBase: '', holder: 'test' };
  const runner = startDeletionRunner({ ...options, onError: (error) => void failures.push(error) });
  atEnd(() => runner.stop());
  return runner;
};
const untilGone = (id: string) =>
  expect.poll(async () => (await admin.get(`/accounts/${id}`)).status, { timeout: 30_000 }).toBe(404);
const inDeletion = async (id: string) => (await admin.get(`/accounts/${id}`)).as(account.view).deletion;

test('an account goes with all that belongs to it, and with nothing else', async () => {
  const [gone, other] = [await team(), await team()];
  const before = await held(other.id);
  const tables = Object.keys(before);
  for (const { table } of ACCOUNT_FAMILIES) expect(tables).toContain(table);
  for (const name of ['events', 'event_deliveries', 'idempotency_keys', 'idempotency_scopes', 'modules'])
    expect(tables).toContain(name);
  for (const name of ['resource_managers', 'resource_references']) expect(tables).toContain(name);

  const reply = await admin.delete(`/accounts/${gone.id}?cascade=true`);
  expect(reply.status).toBe(202);
  const { deletion } = reply.as(account.view);
  expect(deletion).toMatchObject({ remaining: null, error: null });

  // From this moment on.
  expect((await gone.member.get('/ip_policies')).error).toMatchObject({ error_code: 'UNAUTHENTICATED' });
  expect((await admin.post('/ip_policies', {}, gone.visiting)).error).toMatchObject({
    details: { Account: 'names an account that is being deleted' },
  });
  for (const path of [`/accounts/${gone.id}?cascade=true`, `/accounts/${gone.id}`]) {
    const again = await admin.delete(path);
    expect([again.status, again.as(account.view)]).toEqual([202, reply.as(account.view)]);
  }

  start();
  await untilGone(gone.id);
  expect(failures).toEqual([]);
  expect(await held(gone.id)).toEqual({});
  expect(await held(other.id)).toEqual(before);
  expect((await gone.member.get('/ip_policies')).status).toBe(401);
  expect((await other.member.get('/ip_policies')).status).toBe(200);
  const log = await api.rows(
    'select type, actor, api_key_id is null as by_first_key, request_id, account_id from events where resource_id = $1 order by id',
    [gone.id],
  );
  const requestId = reply.headers['x-request-id'];
  const common = { actor: admin.id, account_id: FIRST_ACCOUNT };
  expect(log).toMatchObject([
    { ...common, type: 'account_created.v0' },
    { ...common, type: 'account_updated.v0', request_id: requestId },
    { ...common, type: 'account_deleted.v0', request_id: requestId },
  ]);
  expect(
    await api.rows('select 1 from event_streams where destination_id not in (select id from event_destinations)'),
  ).toEqual([]);
}, 60_000);

test('each family is deleted before those that it refers to', async () => {
  const order = IN_ORDER_OF_DELETION.map(({ resource }) => resource);
  const pairs = await api.rows(
    `select distinct referrer, split_part(target_id, '_0', 1) as target from resource_references`,
  );
  expect(pairs.length).toBeGreaterThan(5);
  for (const { referrer, target } of pairs) {
    const [from, to] = [
      order.findIndex(({ name }) => name === referrer),
      order.findIndex(({ prefix }) => prefix === target),
    ];
    expect(`${referrer} ${from < to}`).toBe(`${referrer} true`);
  }
});

test('a create that is under way comes first, and a later one fails', async () => {
  const { id, visiting } = await team();
  const first = await heldTransaction(api.databaseUrl);
  await first.query(`select set_config('tunnel_operator.account', $1, true)`, [id]);
  await first.query(`insert into ip_policies (id, created_at, updated_at) values ('ipp_under_way', now(), now())`);
  const deleting = admin.delete(`/accounts/${id}?cascade=true`);
  await first.commit();
  expect((await deleting).status).toBe(202);
  const late = api.db.within(id).query({
    text: `insert into ip_policies (id, created_at, updated_at) values ('ipp_late', now(), now())`,
    values: [],
  });
  await expect(late).rejects.toThrow('the account has been deleted');
  expect((await admin.get('/ip_policies', visiting)).status).toBe(400);
  await untilGone(id);
  expect(await held(id)).toEqual({});
}, 60_000);

test('a resource that cannot be deleted is shown as the error, and the deletion goes on once it can', async () => {
  const { id } = await team();
  await api.rows('create table holding (id text references ip_policies (id))');
  const [policy] = await api.rows('select min(id) as id from ip_policies where account_id = $1', [id]);
  await api.rows('insert into holding values ($1)', [policy?.id]);
  await admin.delete(`/accounts/${id}?cascade=true`);
  await expect
    .poll(() => inDeletion(id), { timeout: 20_000 })
    .toMatchObject({
      error: expect.stringMatching(/^could not delete IP policies: .*violates foreign key constraint/),
    });
  expect((await inDeletion(id))?.remaining).toBeGreaterThan(0);
  expect(failures.map(String)).toContainEqual(expect.stringContaining('could not delete IP policies'));
  await api.rows('drop table holding');
  await untilGone(id);
  expect(await held(id)).toEqual({});
}, 60_000);

test('the first account cannot be deleted', async () => {
  expect((await admin.delete(`/accounts/${FIRST_ACCOUNT}?cascade=true`)).error).toMatchObject({
    error_code: 'CONFLICT',
    msg: 'The first account can never be deleted.',
  });
});
