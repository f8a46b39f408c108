/** Migrations of databases that are in use: as each release left them, with rows in every table. */
import type pg from 'pg';
import { expect, test } from 'vitest';
import { keyring } from '../../../src/api/secrets/keyring.ts';
import { openSecrets } from '../../../src/api/secrets/rotation.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { migrate, migrations } from '../../../src/api/store/migrate.ts';
import { authentication, credential } from '../../../src/resources/credential.ts';
import { createTestDatabase } from '../../harness.ts';
import { emptyDatabase, startTestApi, type TestApi } from '../harness.ts';
import { catalogOf } from './schema/catalog.ts';
import { columnsOf, insertRows, type Recording, recordings, withClient } from './schema/recorded-rows.ts';
import { expectChangeable, expectExtensible, expectServed } from './schema/served.ts';

const ours = await migrations();
const catalog = (url: string) =>
  withClient(url, (client) => catalogOf(async (text) => (await client.query<Record<string, unknown>>(text)).rows));
const fromScratch = await catalog(await emptyDatabase());

/** Rows that later migrations change: secrets are taken out of them. */
const REWRITTEN: Readonly<Record<string, string>> = {
  events: String.raw`type like 'event\_destination\_%' or type like 'http\_response\_backend\_%'`,
};

/** All other rows, with the given columns only. */
async function contents(client: pg.Client, columns: ReadonlyMap<string, readonly string[]>) {
  const all = new Map<string, unknown[]>();
  for (const [table, names] of columns) {
    const { rows } = await client.query(
      `select row(${names.join(', ')})::text as line from ${table} where (${REWRITTEN[table] ?? false}) is not true order by 1`,
    );
    all.set(table, rows);
  }
  return all;
}

async function startWith({ secrets: { encryptionKey } }: Recording, databaseUrl: string): Promise<TestApi> {
  const keys = keyring.parse(encryptionKey);
  const api = await startTestApi({ databaseUrl, secrets: createSecrets(keys) });
  await openSecrets(api.db, keys);
  return api;
}

/** Expects keys and tokens that were handed out to work still. */
async function expectSecretsToWork(api: TestApi, { secrets }: Recording): Promise<void> {
  const key = api.withKey(api.admin.id, secrets.adminKey);
  const answer = (await key.post('/credentials/authenticate', { token: secrets.token, bind: 'app.example.com' })).as(
    authentication,
  );
  expect(answer).toMatchObject({ allowed: true, matched_rule: 'bind:*.example.com' });
  const headers = { 'idempotency-key': secrets.idempotencyKey };
  const replay = await key.post('/credentials', { acl: ['bind:*.example.com', 'bind:team=web'] }, headers);
  expect(replay.headers['idempotency-replayed']).toBe('true');
  expect(replay.as(credential.view).id).toBe(answer.credential_id);
}

test.each(await recordings())('this release serves the rows of the one with schema $version', async (recording) => {
  const url = await createTestDatabase();
  await migrate(url, ours.slice(0, recording.version));
  await withClient(url, async (client) => {
    await insertRows(client, recording);
    const columns = await columnsOf(client);
    const before = await contents(client, columns);
    expect(await migrate(url)).toEqual(ours.slice(recording.version).map(({ name }) => name));
    expect(await contents(client, columns)).toEqual(before);
  });
  expect(await catalog(url)).toEqual(fromScratch);
  const api = await startWith(recording, url);
  await expectServed(api);
  await expectSecretsToWork(api, recording);
  await expectChangeable(api);
  await expectExtensible(api);
  await expectServed(api);
});

test('a replayed create of a TLS certificate from before chain_not_after shows it as null', async () => {
  const url = await createTestDatabase();
  await migrate(url, ours.slice(0, 19));
  await withClient(url, async (client) => {
    const bodies = { cert_1: '{"id":"cert_1","metadata":"{}"}', ca_1: '{"id":"ca_1"}' };
    for (const [id, body] of Object.entries(bodies)) {
      const text =
        "insert into idempotency_keys (principal, digest, resource_id, body, created_at) values ('p', $1, $1, $2, now())";
      await client.query(text, [id, body]);
    }
    await migrate(url);
    const { rows } = await client.query('select body::text from idempotency_keys order by resource_id');
    expect(rows).toEqual([{ body: bodies.ca_1 }, { body: '{"id":"cert_1","metadata":"{}","chain_not_after":null}' }]);
  });
});
