/** The rows of one family, as the rest of the API reads and writes them. */
import { expect, test } from 'vitest';
import type { Database, Executor } from '../../../src/api/store/database.ts';
import { changeEvent } from '../../../src/api/store/outbox.ts';
import { type Row, repository } from '../../../src/api/store/repository.ts';
import { FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { tunnelGroupBackend } from '../../../src/resources/tunnel-group-backend.ts';
import { openTestDatabase } from '../harness.ts';

const policies = repository(ipPolicy);
const rules = repository(ipPolicyRule);
const backends = repository(tunnelGroupBackend);

const AT = '2026-11-21T10:00:00.000Z';
const row = (id: string, columns: object): Row => ({
  id,
  created_at: AT,
  revision: 1,
  description: null,
  metadata: null,
  ...columns,
});
const rule = (id: string, policy: string, columns: object = {}) =>
  row(id, { cidr: `${id}::/48`, action: 'allow', ip_policy_id: policy, ...columns });
const author = { caller: { id: 'usr_1', keyId: 'ak_1' }, requestId: 'r' };
const event = (name: string, id: string) =>
  changeEvent(author, name, { kind: 'created', payload: { id }, revision: 1 });

/** A database with the policies `a`, `b` and `c`: `b` has the rules 1 to 4, the others have one each. */
async function filled(): Promise<Database> {
  const db = (await openTestDatabase()).within(FIRST_ACCOUNT);
  for (const id of ['a', 'b', 'c']) await policies.insert(db, row(id, {}), event('ip_policy', id));
  await rules.insertMany(db, [...['1', '2', '3', '4'].map((id) => rule(id, 'b')), rule('5', 'a'), rule('0', 'c')]);
  return db;
}

const ids = (rows: readonly Row[]) => rows.map(({ id }) => id);

test('a page has rows of one scope only, newest first', async () => {
  const db = await filled();
  const only = { ip_policy_id: 'b' };
  const page = async (before?: string) => {
    const { rows: found, more } = await rules.page(db, { only, limit: 2, before });
    return { ids: ids(found), more };
  };
  expect(await page()).toEqual({ ids: ['4', '3'], more: true });
  expect(await page('3')).toEqual({ ids: ['2', '1'], more: false });
  expect(await page('1')).toEqual({ ids: [], more: false });
});

test('a page has as many rows as fit into its bytes, and at least one', async () => {
  const db = await filled();
  const sizes: number[] = [];
  const measuring: Executor = {
    query(statement) {
      const keeps = (bytes: number) => {
        sizes.push(bytes);
        return statement.keeps?.(bytes) ?? true;
      };
      return db.query({ ...statement, keeps });
    },
  };
  await rules.page(measuring, { limit: 3 });
  const [first = 0, second = 0] = sizes;
  const within = async (maxBytes: number) => {
    const { rows: found, more } = await rules.page(db, { limit: 100, maxBytes });
    return { rows: found.length, more };
  };
  expect(await within(first + second)).toEqual({ rows: 2, more: true });
  expect(await within(first + second - 1)).toEqual({ rows: 1, more: true });
  expect(await within(1)).toEqual({ rows: 1, more: true });
});

test('where() returns all rows with a value, or a limited number after an id', async () => {
  const db = await filled();
  expect(ids(await rules.where(db, 'ip_policy_id', 'b'))).toEqual(['1', '2', '3', '4']);
  expect(ids(await rules.where(db, 'ip_policy_id', 'b', { after: '1', limit: 2 }))).toEqual(['2', '3']);
});

test('an update writes only the fields that may change', async () => {
  const db = await filled();
  const changed = rule('1', 'a', { action: 'deny', cidr: '9::/48' });
  expect(await db.transaction((tx) => rules.update(tx, changed, event('ip_policy_rule', '1')))).toBe(2);
  expect(await rules.get(db, '1')).toMatchObject({ action: 'deny', cidr: '9::/48', ip_policy_id: 'b', revision: 2 });
});

test.each<[string, (tx: Executor) => Promise<void>]>([
  ['one to insert already exists', (tx) => rules.insertMany(tx, [rule('9', 'b'), rule('1', 'b')])],
  ['one would violate a unique index', (tx) => rules.updateMany(tx, [rule('1', 'b', { cidr: '2::/48' })])],
  ['one to delete is the parent of others', (tx) => policies.removeMany(tx, ['c', 'b'])],
])('none of many rows is written if %s', async (_, write) => {
  const db = await filled();
  const before = [await rules.page(db, { limit: 100 }), await policies.page(db, { limit: 100 })];
  let isOver = false;
  const whole = db.transaction(async (tx) => {
    await write(tx);
    isOver = true;
  });
  await expect(whole).rejects.toThrow();
  expect(isOver).toBe(false);
  expect([await rules.page(db, { limit: 100 }), await policies.page(db, { limit: 100 })]).toEqual(before);
});

test('a JSON column returns lists and maps as they were written, and refuses null', async () => {
  const db = await filled();
  for (const [id, labels] of Object.entries({ x: ['a', 'b'], y: { a: 'b' } })) {
    await backends.insert(db, row(id, { labels }), event('tunnel_group_backend', id));
    expect(await backends.get(db, id)).toMatchObject({ labels });
  }
  await expect(
    backends.insert(db, row('z', { labels: null }), event('tunnel_group_backend', 'z')),
  ).rejects.toMatchObject({ code: '23502' });
});
