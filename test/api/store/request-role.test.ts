/** A user who owns the database and may do nothing else, unlike the superuser of all other tests. */
import { randomBytes } from 'node:crypto';
import { Client, escapeIdentifier } from 'pg';
import { expect, test } from 'vitest';
import { fanOut } from '../../../src/api/events/queue/fan-out.ts';
import { REQUEST_ROLE } from '../../../src/api/store/account-scope.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { ACCOUNT_HEADER, account } from '../../../src/resources/account.ts';
import { atEnd } from '../../end-of-file.ts';
import { createTestDatabase } from '../../harness.ts';
import { emptyDatabase, startTestApi } from '../harness.ts';

/** Runs statements as the superuser. */
async function asSuperuser(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Dropped after the databases that are made after it. */
async function newUser(): Promise<{ name: string; as: (url: string) => string }> {
  const name = `owner_${randomBytes(4).toString('hex')}`;
  const server = await createTestDatabase();
  await asSuperuser(server, `create role ${name} login password 'secret'`);
  atEnd(() => asSuperuser(server, `drop role ${name}`));
  const as = (url: string) => Object.assign(new URL(url), { username: name, password: 'secret' }).href;
  return { name, as };
}

const owner = await newUser();
const superusers = await createTestDatabase();
const database = escapeIdentifier(new URL(superusers).pathname.slice(1));
await asSuperuser(
  superusers,
  `alter database ${database} owner to ${owner.name}`,
  `grant create on schema public to ${owner.name}`,
);
// Made by the migrations of a superuser.
await emptyDatabase();
const databaseUrl = owner.as(superusers);

test('who may not take the role of requests is told what to run', async () => {
  await expect(migrate(databaseUrl)).rejects.toMatchObject({
    name: 'UnsuitableDatabase',
    message: expect.stringContaining(`create role ${REQUEST_ROLE} nologin; grant ${REQUEST_ROLE} to ${owner.name};`),
  });
});

test('after that, the owner of a database serves requests within accounts, and does the work between them', async () => {
  await asSuperuser(superusers, `grant ${REQUEST_ROLE} to ${owner.name}`);
  await migrate(databaseUrl);
  const { admin, rows, db } = await startTestApi({ databaseUrl });
  const { id } = (await admin.post('/accounts', { name: 'another' })).as(account.view);
  const there = { [ACCOUNT_HEADER]: id };
  const target = { webhook: { url: 'https://hooks.example.com/' } };
  for (const headers of [{}, there]) {
    const destination = (await admin.post('/event_destinations', { target }, headers)).text;
    const destination_ids = [JSON.parse(destination).id];
    const sources = [{ type: 'ip_policy_created.v0' }];
    expect((await admin.post('/event_subscriptions', { sources, destination_ids }, headers)).status).toBe(201);
  }
  const made = JSON.parse((await admin.post('/ip_policies', {}, there)).text);
  expect((await admin.get(`/ip_policies/${made.id}`)).status).toBe(404);
  await fanOut(db);
  expect(await rows('select account_id, resource_id from event_deliveries')).toEqual([
    { account_id: id, resource_id: made.id },
  ]);
});

test('the tables may lie in a schema of the user', async () => {
  const url = await createTestDatabase();
  const name = escapeIdentifier(new URL(url).pathname.slice(1));
  await asSuperuser(url, `create schema authorization ${owner.name}`, `alter database ${name} owner to ${owner.name}`);
  await migrate(owner.as(url));
  const { admin } = await startTestApi({ databaseUrl: owner.as(url) });
  expect((await admin.post('/ip_policies', {})).status).toBe(201);
  expect((await admin.get('/ip_policies')).status).toBe(200);
});

test('rights that a restored database lacks are granted again, and other tables in the schema are left alone', async () => {
  const url = await emptyDatabase();
  await asSuperuser(
    url,
    `revoke all on all tables in schema public from ${REQUEST_ROLE}`,
    `create table others (n integer)`,
    `alter table others owner to ${owner.name}`,
  );
  await migrate(url);
  const { admin } = await startTestApi({ databaseUrl: url });
  expect((await admin.get('/ip_policies')).status).toBe(200);
  await asSuperuser(url, 'drop policy account on events');
  await expect(migrate(url)).rejects.toMatchObject({ message: expect.stringContaining('has lost its policies') });
});

test('a user from whom row level security hides rows is refused', async () => {
  const guest = await newUser();
  const url = await emptyDatabase();
  await asSuperuser(
    url,
    `grant ${REQUEST_ROLE} to ${guest.name}`,
    `grant create on schema public to ${guest.name}`,
    `grant all on all tables in schema public to ${guest.name}`,
  );
  await expect(migrate(guest.as(url))).rejects.toMatchObject({
    name: 'UnsuitableDatabase',
    message: expect.stringContaining('does not own its tables'),
  });
});
