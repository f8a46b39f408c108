/** Forward-only schema migrations: numbered SQL files, each applied once, in one transaction. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';
import { type Blocker, LONGEST_LOCK_WAIT_MS, patiently } from './lock-waits.ts';
import { LOCKS } from './locks.ts';

export interface Migration {
  version: number;
  name: string;
  sql: string;
  checksum: string;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** A server drops the session of a machine that is gone, and the lock with it, after a minute; its own default is hours. */
const DROP_THE_GONE = 'set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3';

const FOLDER = join(import.meta.dirname, 'migrations');

const applied = z.array(z.object({ version: z.number(), name: z.string(), checksum: z.string() }));

/** The migrations of this release, in order. */
export async function migrations(folder = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(folder, name), 'utf8');
      return { version: Number(name.slice(0, 4)), name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/**
 * Brings the database to this release's schema and returns the names of what it applied. Safe to run from several
 * processes at once: the others wait and find nothing to do. A database that is ahead (an older release restarting
 * during an upgrade) is left as it is. Throws when an applied migration differs from the file of this release.
 * @param onWait told of each new set of sessions that hold what this one waits for
 */
export async function migrate(
  url: string,
  available?: Migration[],
  onWait: (blockers: readonly Blocker[]) => void = () => undefined,
): Promise<string[]> {
  const wanted = available ?? (await migrations());
  const client = await connect(url);
  try {
    const { rows: own } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const waiting = <T>(work: () => Promise<T>) =>
      patiently(Number(own[0]?.pid), work, { connect: () => connect(url), onWait });
    await client.query(DROP_THE_GONE);
    // Holds up nobody but others that migrate, however long they take.
    await waiting(() => client.query('select pg_advisory_lock($1)', [LOCKS.migration]));
    await client.query(`set lock_timeout = ${LONGEST_LOCK_WAIT_MS}`);
    await client.query(`
      create table if not exists schema_migrations (
        version    integer primary key,
        name       text not null,
        checksum   text not null,
        applied_at timestamptz not null default now()
      )`);
    const { rows } = await client.query('select version, name, checksum from schema_migrations order by version');
    const pending = pendingMigrations(wanted, applied.parse(rows));
    for (const migration of pending) await apply(client, migration, waiting);
    return pending.map(({ name }) => name);
  } finally {
    // Ends the session, and the lock with it.
    await client.end();
  }
}

/** What is to be applied. Throws when history and files disagree. */
export function pendingMigrations(wanted: Migration[], done: z.output<typeof applied>): Migration[] {
  const byVersion = new Map(done.map((row) => [row.version, row]));
  return wanted.filter((migration) => {
    const row = byVersion.get(migration.version);
    if (row && row.checksum !== migration.checksum) {
      throw new Error(
        `migration ${migration.name} was changed after it was applied as ${row.name}; restore the file and add a new one`,
      );
    }
    return !row;
  });
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'tunnel-operator migrate',
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  });
  // What waits for an answer fails anyway; without a listener a connection that breaks would end the process.
  client.on('error', () => {});
  await client.connect();
  return client;
}

type Waiting = <T>(work: () => Promise<T>) => Promise<T>;

async function apply(client: pg.Client, migration: Migration, waiting: Waiting): Promise<void> {
  try {
    await waiting(() => inTransaction(client, migration));
  } catch (error) {
    throw new Error(`migration ${migration.name} failed`, { cause: error });
  }
}

async function inTransaction(client: pg.Client, { version, name, checksum, sql }: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(sql);
    await client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
      version,
      name,
      checksum,
    ]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}
