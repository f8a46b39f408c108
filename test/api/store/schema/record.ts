/**
 * Writes `rows-<version of the schema>.json`: rows for the tables and columns that no recording so far has, made by this
 * release through its own API. Run it when a migration adds a table or column, and keep the files of earlier versions:
 * later releases are tested on all of them together (migrations-with-data.test.ts).
 *
 *     npm run record
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { z } from 'zod';
import { startPostgres } from '../../../../dev/database/postgres.ts';
import { sampleValues } from '../../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../../dev/fixtures/samples.ts';
import { parseKeyring } from '../../../../src/api/secrets/keyring.ts';
import { startApi } from '../../../../src/api/server.ts';
import { migrate, migrations } from '../../../../src/api/store/migrate.ts';
import { FAMILIES } from '../../../../src/resources/families.ts';
import { lackingIn } from './lacking.ts';
import { columnsOf, type Recording, type Rows, RowsInTime, recorded, withClient } from './recorded-rows.ts';

/** Far from the numbers of samples in tests. */
const FIRST_SAMPLE = 60_000;

/** A create in an idempotency scope. */
const PLACED = {
  'idempotency-key': 'recorded-in-scope',
  'idempotency-scope': 'recorded-scope',
  'idempotency-sequence': '1',
};

const made = z.looseObject({ id: z.string() });

async function fill(recording: Recording, databaseUrl: string, tables: ReadonlySet<string>): Promise<void> {
  const { adminKey, encryptionKey } = recording.secrets;
  const parsed = parseKeyring(encryptionKey);
  if ('reason' in parsed) throw new Error(parsed.reason);
  const api = await startApi({
    databaseUrl,
    port: 0,
    baseUrl: 'https://tunnels.test',
    bootstrapApiKey: adminKey,
    encryptionKey: parsed.keys,
  });
  const post = async (path: string, body: object, more: Readonly<Record<string, string>> = {}) => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', ...more };
    const response = await fetch(api.listening + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path} answered ${response.status}: ${text}`);
    return made.parse(JSON.parse(text));
  };
  try {
    const values = await sampleValues();
    let n = FIRST_SAMPLE;
    for (const family of FAMILIES.filter(({ table }) => tables.has(table))) {
      for (const which of ['full', 'least'] as const) await createSample(post, family, which, n++, values);
    }
    if (tables.has('idempotency_scopes')) await post('/ip_policies', {}, PLACED);
  } finally {
    await api.stop();
  }
}

/** Numbers as text: a bigint of Postgres has more digits than one of JSON keeps. */
const ROWS = (table: string) => `
  select (select json_object_agg(key, case json_typeof(value) when 'number' then to_json(value #>> '{}') else value end)
            from json_each(row_to_json(t)) where key = any ($1::text[])) as row
    from ${table} t order by t::text`;

const found = z.array(z.object({ row: z.record(z.string(), z.unknown()) }));

async function allRows(client: pg.Client): Promise<Rows> {
  const rows: Record<string, Rows[string]> = {};
  for (const [table, columns] of await columnsOf(client)) {
    rows[table] = found.parse((await client.query(ROWS(table), [columns])).rows).map(({ row }) => row);
  }
  return rows;
}

/** What is in `after` and not in `before`. */
function added(before: Rows, after: Rows): Rows {
  const difference = Object.entries(after).map(([table, rows]) => {
    const known = new Set(before[table]?.map((row) => JSON.stringify(row)));
    return [table, rows.filter((row) => !known.has(JSON.stringify(row)))] as const;
  });
  return Object.fromEntries(difference.filter(([, rows]) => rows.length > 0));
}

const postgres = await startPostgres();
try {
  const recording = await recorded();
  const { url } = postgres;
  const all = await migrations();
  await migrate(url);
  await new RowsInTime(recording).insert(url);
  const read = () => withClient(url, allRows);
  const before = await read();
  const lacking = await withClient(url, (client) => lackingIn(client, before));
  if (lacking.length === 0) {
    process.stdout.write('the recordings have every table and column\n');
  } else {
    await fill(recording, url, new Set(lacking.map(({ table }) => table)));
    const rows = added(before, await read());
    const file = `rows-${String(all.at(-1)?.version).padStart(4, '0')}.json`;
    await writeFile(join(import.meta.dirname, file), `${JSON.stringify({ rows }, null, 2)}\n`);
    process.stdout.write(`wrote ${file}, with rows for ${Object.keys(rows).join(', ')}\n`);
    const left = await withClient(url, async (client) => lackingIn(client, await allRows(client)));
    for (const { table, what } of left)
      process.stdout.write(`still lacking, to be added by hand: ${what} in ${table}\n`);
  }
} finally {
  await postgres.stop();
}
