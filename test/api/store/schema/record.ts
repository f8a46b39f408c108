/**
 * node test/api/store/schema/record.ts
 *
 * Run this for each release. It writes `rows-<version of the schema>.json`, the database as the release leaves it: the
 * rows of the previous recording and new ones of every family, made through the API. Keep the recordings of all
 * releases: migrations-with-data.test.ts migrates each.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { z } from 'zod';
import { startPostgres } from '../../../../dev/database/postgres.ts';
import { sampleValues } from '../../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../../dev/fixtures/samples.ts';
import { json } from '../../../../dev/layout.ts';
import { keyring } from '../../../../src/api/secrets/keyring.ts';
import { startApi } from '../../../../src/api/server.ts';
import { migrate, migrations } from '../../../../src/api/store/migrate.ts';
import { FAMILIES } from '../../../../src/resources/families.ts';
import { columnsOf, insertRows, type Recording, recordings, withClient } from './recorded-rows.ts';

const made = z.looseObject({ id: z.string() });

async function createSamples({ secrets, version }: Recording, databaseUrl: string): Promise<void> {
  const api = await startApi({
    databaseUrl,
    port: 0,
    baseUrl: 'https://tunnels.test',
    bootstrapApiKey: secrets.adminKey,
    encryptionKey: keyring.parse(secrets.encryptionKey),
  });
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${secrets.adminKey}`, 'content-type': 'application/json' };
    const response = await fetch(api.listening + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path} answered ${response.status}: ${text}`);
    return made.parse(JSON.parse(text));
  };
  try {
    const values = await sampleValues();
    // Sample numbers that neither tests nor earlier recordings use.
    let n = 60_000 + 1000 * version;
    for (const family of FAMILIES) {
      for (const which of ['full', 'least'] as const) await createSample(post, family, which, n++, values);
    }
  } finally {
    await api.stop();
  }
}

/** Numbers as text: a PostgreSQL bigint has more digits than a number in JSON keeps. */
const ROWS = (table: string) => `
  select (select json_object_agg(key, case json_typeof(value) when 'number' then to_json(value #>> '{}') else value end)
            from json_each(row_to_json(t)) where key = any ($1::text[])) as row
    from ${table} t order by t::text`;

const found = z.array(z.object({ row: z.record(z.string(), z.unknown()) }));

async function allRows(client: pg.Client): Promise<Recording['rows']> {
  const rows: Recording['rows'] = {};
  for (const [table, columns] of await columnsOf(client)) {
    rows[table] = found.parse((await client.query(ROWS(table), [columns])).rows).map(({ row }) => row);
  }
  return rows;
}

const all = await migrations();
const before = (await recordings()).at(-1);
if (!before) throw new Error('the recording before is missing; restore it from the repository');
const postgres = await startPostgres();
try {
  const { url } = postgres;
  await migrate(url, all.slice(0, before.version));
  await withClient(url, (client) => insertRows(client, before));
  await createSamples(before, url);
  const checksums = Object.fromEntries(all.map(({ name, checksum }) => [name, checksum]));
  const rows = await withClient(url, allRows);
  const file = `rows-${String(all.length).padStart(4, '0')}.json`;
  await writeFile(join(import.meta.dirname, file), json({ checksums, secrets: before.secrets, rows }, 120));
  process.stdout.write(`wrote ${file}\n`);
} finally {
  await postgres.stop();
}
