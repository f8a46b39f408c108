import { expect, test } from 'vitest';
import { REQUEST_ROLE } from '../../../src/api/store/account-scope.ts';
import { FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { openTestDatabase } from '../harness.ts';

// One connection, so that whatever a statement left behind on it would be found.
const db = await openTestDatabase(1);
const [one, other] = [db.within('acc_one'), db.within('acc_other')];
const run = (on: Pick<typeof db, 'query'>, text: string, ...values: unknown[]) => on.query({ text, values });
const add = (on: Pick<typeof db, 'query'>, id: string) =>
  run(on, 'insert into ip_policies (id, created_at, updated_at) values ($1, now(), now())', id);
const idsOf = async (on: Pick<typeof db, 'query'>) =>
  (await run(on, 'select id from ip_policies order by id')).map(({ id }) => id);

for (const id of ['acc_one', 'acc_other'])
  await run(db, 'insert into accounts (id, name, created_at, updated_at) values ($1, $1, now(), now())', id);
await add(one, 'ipp_1');
await add(other, 'ipp_2');
await add(db, 'ipp_3');

test('a row belongs to the account that it is added in, by default to the first one', async () => {
  expect(await run(db, 'select id, account_id from ip_policies order by id')).toEqual([
    { id: 'ipp_1', account_id: 'acc_one' },
    { id: 'ipp_2', account_id: 'acc_other' },
    { id: 'ipp_3', account_id: FIRST_ACCOUNT },
  ]);
});

test('a statement within an account sees its rows alone, and the next one outside of it all rows', async () => {
  expect(await idsOf(one)).toEqual(['ipp_1']);
  expect(await idsOf(db)).toEqual(['ipp_1', 'ipp_2', 'ipp_3']);
  expect(await idsOf(other)).toEqual(['ipp_2']);
  expect(await idsOf(one.acrossAccounts())).toEqual(['ipp_1', 'ipp_2', 'ipp_3']);
});

test('a transaction is within the account from its first statement to its last', async () => {
  await one.transaction(async (tx) => {
    expect(await idsOf(tx)).toEqual(['ipp_1']);
    await run(tx, 'update ip_policies set description = $1', 'mine');
    expect(await idsOf(tx)).toEqual(['ipp_1']);
  });
  expect(await run(db, 'select id from ip_policies where description is not null')).toEqual([{ id: 'ipp_1' }]);
});

test.each([
  [
    'adds a row to another account',
    "insert into ip_policies (id, account_id, created_at, updated_at) values ('ipp_4', 'acc_other', now(), now())",
  ],
  ['moves a row to another account', "update ip_policies set account_id = 'acc_other'"],
])('a statement that %s is refused, and leaves nothing behind on the connection', async (_, text) => {
  await expect(run(one, text)).rejects.toMatchObject({ code: '42501' });
  await expect(one.transaction((tx) => run(tx, text))).rejects.toMatchObject({ code: '42501' });
  expect(await idsOf(db)).toEqual(['ipp_1', 'ipp_2', 'ipp_3']);
});

test('named statements are parsed anew after an error in the first attempt', async () => {
  const named = { name: 'later', text: 'select * from later', values: [] };
  await expect(one.query(named)).rejects.toMatchObject({ code: '42P01' });
  await run(db, 'create table later as select 1 as a');
  await run(db, `grant select on later to ${REQUEST_ROLE}`);
  expect(await one.query(named)).toEqual([{ a: 1 }]);
  expect(await db.query(named)).toEqual([{ a: 1 }]);
});

test('the role sees no row without an account, and none of the secrets of the service itself', async () => {
  await db.transaction(async (tx) => {
    await run(tx, `set local role ${REQUEST_ROLE}`);
    expect(await idsOf(tx)).toEqual([]);
  });
  for (const table of ['encryption_keys', 'acme_accounts'])
    await expect(run(one, `select * from ${table}`)).rejects.toMatchObject({ code: '42501' });
});
