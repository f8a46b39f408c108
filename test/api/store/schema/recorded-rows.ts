/** Rows that releases have stored (record.ts), for databases at any version of the schema. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';

const rowsByTable = z.record(z.string(), z.array(z.record(z.string(), z.unknown())));

const secrets = z.object({
  adminKey: z.string(),
  encryptionKey: z.string(),
  token: z.string(),
  idempotencyKey: z.string(),
});

export type Rows = Readonly<z.output<typeof rowsByTable>>;

export interface Recording {
  /** What people who used the recorded installation hold in their hands. */
  readonly secrets: z.output<typeof secrets>;
  readonly rows: Rows;
}

/** Each file adds the rows of what came with its version; the first has the secrets of the installation. */
const file = z.object({ secrets: secrets.optional(), rows: rowsByTable });

/** All that was recorded so far. */
export async function recorded(): Promise<Recording> {
  const names = (await readdir(import.meta.dirname)).filter((name) => /^rows-\d{4}\.json$/.test(name)).sort();
  const files = await Promise.all(
    names.map(async (name) => file.parse(JSON.parse(await readFile(join(import.meta.dirname, name), 'utf8')))),
  );
  const rows: Record<string, Rows[string]> = {};
  for (const [table, more] of files.flatMap((each) => Object.entries(each.rows))) {
    rows[table] = [...(rows[table] ?? []), ...more];
  }
  return { secrets: secrets.parse(files[0]?.secrets), rows };
}

const COLUMNS = `
  select table_name as table, array_agg(column_name::text order by ordinal_position) as columns
    from information_schema.columns
   where table_schema = 'public' and table_name <> 'schema_migrations' and is_generated = 'NEVER' group by 1`;

const found = z.array(z.object({ table: z.string(), columns: z.array(z.string()) }));

/** The columns that are written, of every table but the history of migrations. */
export async function columnsOf(client: pg.Client): Promise<ReadonlyMap<string, readonly string[]>> {
  const tables = found.parse((await client.query(COLUMNS)).rows);
  return new Map(tables.map(({ table, columns }) => [table, columns]));
}

/** Inserts the rows of a recording as early as the schema has all of their columns. */
export class RowsInTime {
  readonly #left: { table: string; row: Record<string, unknown> }[];

  constructor({ rows }: Recording) {
    this.#left = Object.entries(rows).flatMap(([table, each]) => each.map((row) => ({ table, row })));
  }

  /** Inserts those that fit by now. */
  async insert(url: string): Promise<void> {
    await withClient(url, async (client) => {
      const columns = await columnsOf(client);
      // Each row was consistent with all others; without this the tables would have to be filled in a certain order.
      await client.query('set session_replication_role = replica');
      for (const one of [...this.#left]) {
        const { table, row } = one;
        const names = Object.keys(row);
        if (!names.every((name) => columns.get(table)?.includes(name))) continue;
        const list = names.join(', ');
        const text = `insert into ${table} (${list}) select ${list} from json_populate_record(null::${table}, $1)`;
        await client.query(text, [JSON.stringify(row)]);
        this.#left.splice(this.#left.indexOf(one), 1);
      }
    });
  }

  /** Those that no schema so far has had the columns for. */
  get left(): number {
    return this.#left.length;
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
