/** Migrations of databases that are in use: at every earlier version, with rows in every table that it had. */
import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { keyring } from '../../../src/api/secrets/keyring.ts';
import { openSecrets } from '../../../src/api/secrets/rotation.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { migrate, migrations } from '../../../src/api/store/migrate.ts';
import { authentication, credential } from '../../../src/resources/credential.ts';
import { cloneTestDatabase, createTestDatabase } from '../../harness.ts';
import { emptyDatabase, startTestApi, type TestApi } from '../harness.ts';
import { catalogOf } from './schema/catalog.ts';
import { lackingIn } from './schema/lacking.ts';
import { columnsOf, type Recording, RowsInTime, recorded, withClient } from './schema/recorded-rows.ts';
import { expectChangeable, expectExtensible, expectServed } from './schema/served.ts';

const ours = await migrations();
const recording = await recorded();
const catalog = (url: string) =>
  withClient(url, (client) => catalogOf(async (text) => (await client.query<Record<string, unknown>>(text)).rows));
const fromScratch = await catalog(await emptyDatabase());

/** A database at each version, filled on its way there with the rows of the recording, as early as they fit. */
async function filledAtEachVersion(): Promise<string[]> {
  const url = await createTestDatabase();
  const rows = new RowsInTime(recording);
  const copies: string[] = [];
  for (let version = 0; version <= ours.length; version++) {
    await migrate(url, ours.slice(0, version));
    await rows.insert(url);
    copies.push(await cloneTestDatabase(url));
  }
  expect(rows.left).toBe(0);
  return copies;
}

/** All rows, of these columns alone. */
async function contents(client: pg.Client, columns: ReadonlyMap<string, readonly string[]>) {
  const all = new Map<string, unknown[]>();
  for (const [table, names] of columns) {
    const { rows } = await client.query(`select row(${names.join(', ')})::text as line from ${table} order by 1`);
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

/** What people hold in their hands still works. */
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

describe('rows that were stored by earlier releases', async () => {
  const copies = await filledAtEachVersion();

  test.each(copies.map((url, version) => ({ url, version })))(
    'survive the way from version $version to the last, and are served by this release',
    async ({ url, version }) => {
      await withClient(url, async (client) => {
        const columns = await columnsOf(client);
        const before = await contents(client, columns);
        expect(await migrate(url)).toEqual(ours.slice(version).map(({ name }) => name));
        expect(await contents(client, columns)).toEqual(before);
      });
      expect(await catalog(url)).toEqual(fromScratch);
      const api = await startWith(recording, url);
      await expectServed(api);
      if ((await api.rows('select 1 from credentials')).length > 0) await expectSecretsToWork(api, recording);
      await expectChangeable(api);
      await expectExtensible(api);
      await expectServed(api);
    },
  );
});

test('there are rows for every table and column, and nulls wherever they may be', async () => {
  const url = await emptyDatabase();
  const lacking = await withClient(url, (client) => lackingIn(client, recording.rows));
  expect(
    lacking.map(({ table, what }) => `${what} in ${table}`),
    'run npm run record',
  ).toEqual([]);
});
