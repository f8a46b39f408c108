/** Databases as releases leave them (record.ts): which migrations they have applied, and their rows. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';

const recording = z.object({
  /** Of the migrations that the release applies, by name. */
  checksums: z.record(z.string(), z.string()),
  /** Secrets that users of the recorded installation hold. */
  secrets: z.object({
    adminKey: z.string(),
    encryptionKey: z.string(),
    token: z.string(),
    idempotencyKey: z.string(),
  }),
  /** By table. */
  rows: z.record(z.string(), z.array(z.record(z.string(), z.unknown()))),
});

export type Recording = Readonly<z.output<typeof recording>> & {
  /** Version of the schema. */
  readonly version: number;
};

/** All recordings, oldest first. */
export async function recordings(): Promise<Recording[]> {
  const names = (await readdir(import.meta.dirname)).filter((name) => /^rows-\d{4}\.json$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => ({
      ...recording.parse(JSON.parse(await readFile(join(import.meta.dirname, name), 'utf8'))),
      version: Number(name.slice('rows-'.length, -'.json'.length)),
    })),
  );
}

const COLUMNS = `
  select table_name as table, array_agg(column_name::text order by ordinal_position) as columns
    from information_schema.columns
   where table_schema = 'public' and table_name <> 'schema_migrations' and is_generated = 'NEVER' group by 1`;

const found = z.array(z.object({ table: z.string(), columns: z.array(z.string()) }));

/** The columns that can be written, of every table except the migration history. */
export async function columnsOf(client: pg.Client): Promise<ReadonlyMap<string, readonly string[]>> {
  const tables = found.parse((await client.query(COLUMNS)).rows);
  return new Map(tables.map(({ table, columns }) => [table, columns]));
}

/** Inserts the rows into a database whose schema has the version of the recording. */
export async function insertRows(client: pg.Client, { rows }: Recording): Promise<void> {
  // The rows are consistent with each other; without this, the tables would have to be filled in a certain order.
  await client.query('set session_replication_role = replica');
  for (const [table, each] of Object.entries(rows)) {
    for (const row of each) {
      const list = Object.keys(row).join(', ');
      const text = `insert into ${table} (${list}) select ${list} from json_populate_record(null::${table}, $1)`;
      await client.query(text, [JSON.stringify(row)]);
    }
  }
}

export async function withClient<T>(url: string, act: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end();
  }
}
