/** Forward-only schema migrations: numbered SQL files, each applied once, in one transaction. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { backoff } from '../../retry/backoff.ts';
import type { Executor } from './database.ts';
import { transientCondition } from './database-errors.ts';
import { LOCKS } from './locks.ts';
import { checkRowSecurity, ensureRequestRole, grantTables } from './request-role.ts';
import { UnsuitableDatabase } from './unsuitable-database.ts';

export interface Migration {
  version: number;
  name: string;
  sql: string;
  checksum: string;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** While our statement waits for a table, every later statement on it waits as well, even one that only reads. */
const LOCK_TIMEOUT_MS = 2_000;
/** Conditions after which a migration is tried again. */
const RETRIED = new Set<string | undefined>(['lock_not_available', 'deadlock_detected']);
const PAUSE = { firstMs: 500, longestMs: 5_000 };
const TURN = { firstMs: 50, longestMs: 1_000 };

/** Makes the server drop the session of a dead machine, and its lock, after a minute; the default is hours. */
const TCP_KEEPALIVE = 'set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3';

/** Its policies name the role of requests. */
const FIRST_WITH_ACCOUNTS = 30;

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
 * @throws UnsuitableDatabase if it is not encoded in UTF-8, or its user lacks a right that accounts need
 * @param onWait called when another session holds a lock that this one waits for
 */
export async function migrate(
  url: string,
  available?: Migration[],
  onWait: () => void = () => undefined,
): Promise<string[]> {
  const wanted = available ?? (await migrations());
  const client = await connect(url);
  try {
    await client.query(TCP_KEEPALIVE);
    await requireUtf8(client);
    await takeTurn(client, onWait);
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query(`
      create table if not exists schema_migrations (
        version    integer primary key,
        name       text not null,
        checksum   text not null,
        applied_at timestamptz not null default now()
      )`);
    const { rows } = await client.query('select version, name, checksum from schema_migrations order by version');
    const pending = pendingMigrations(wanted, applied.parse(rows));
    // Also without migrations to apply: a restored database may be on a server without the role.
    const hasAccounts = wanted.some(({ version }) => version >= FIRST_WITH_ACCOUNTS);
    if (hasAccounts) await ensureRequestRole(client);
    for (const migration of pending) await apply(client, migration, onWait);
    if (hasAccounts) await checkRowSecurity(client);
    return pending.map(({ name }) => name);
  } finally {
    // Ends the session, and the lock with it.
    await client.end();
  }
}

/**
 * Waits for other migrations, as long as they take. Asks again and again: a statement that waits for the lock would hold up the
 * indexes that the others build.
 */
async function takeTurn(client: pg.Client, onWait: () => void): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as locked', [LOCKS.migration]);
    if (rows[0]?.locked === true) return;
    if (tries === 1) onWait();
    await delay(backoff(tries, TURN));
  }
}

/**
 * For programs that do not migrate. A newer schema will do, as it does during an upgrade.
 * @throws UnsuitableDatabase if the database lacks migrations of this release
 */
export async function requireMigrated(db: Executor): Promise<void> {
  const [{ exists } = {}] = await db.query({
    text: "select to_regclass('schema_migrations') is not null as exists",
    values: [],
  });
  const done = exists
    ? await db.query({ text: 'select version, name, checksum from schema_migrations', values: [] })
    : [];
  const pending = pendingMigrations(await migrations(), applied.parse(done));
  if (pending.length === 0) return;
  const names = pending.length > 3 ? `${pending.length}` : pending.map(({ name }) => name).join(', ');
  throw new UnsuitableDatabase(
    `it lacks migrations of this release (${names}): run "tunnel-operator migrate", or start the API of this release`,
  );
}

/** In any other encoding, a request with a character that the encoding lacks would fail with a server error. */
async function requireUtf8(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    "select current_database() as name, current_setting('server_encoding') as encoding",
  );
  const [{ name, encoding }] = z.tuple([z.object({ name: z.string(), encoding: z.string() })]).parse(rows);
  if (encoding === 'UTF8') return;
  throw new UnsuitableDatabase(
    `it is encoded in ${encoding} and must be in UTF8; create another one, for example with ` +
      `createdb --encoding=UTF8 --locale=C --template=template0 ${name}_utf8`,
  );
}

/** The migrations still to apply. Throws when history and files disagree. */
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
  // A query that waits for its result fails anyway. Without this listener, a broken connection would end the process.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Applies one migration. Retries it while it runs into the lock timeout, or into a deadlock with writes that go on meanwhile. */
async function apply(client: pg.Client, migration: Migration, onWait: () => void): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      return await (buildsIndexes(migration) ? withoutLocks(client, migration) : inTransaction(client, migration));
    } catch (error) {
      if (!RETRIED.has(transientCondition(error)))
        throw new Error(`migration ${migration.name} failed`, { cause: error });
      if (failures === 1) onWait();
      await delay(backoff(failures, PAUSE));
    }
  }
}

async function inTransaction(client: pg.Client, { version, name, checksum, sql }: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(sql);
    if (version >= FIRST_WITH_ACCOUNTS) await grantTables(client);
    await recordApplied(client, { version, name, checksum });
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Whether each of its statements is a `create index concurrently`, which cannot be part of a transaction. */
const buildsIndexes = ({ sql }: Migration) => CONCURRENTLY.test(sql);
const CONCURRENTLY = /^create index concurrently (\w+)/im;

/** Writes go on meanwhile, so that large tables may take their time. An index that an earlier attempt left is replaced. */
async function withoutLocks(client: pg.Client, { version, name, checksum, sql }: Migration): Promise<void> {
  // Waits for transactions that have begun before, while nothing waits for it.
  await client.query('set lock_timeout = 0');
  for (const statement of sql.split(';\n').filter((each) => CONCURRENTLY.test(each))) {
    const [, index = ''] = CONCURRENTLY.exec(statement) ?? [];
    const { rows } = await client.query('select indisvalid as valid from pg_index where indexrelid = to_regclass($1)', [
      index,
    ]);
    if (rows[0]?.valid === true) continue;
    if (rows.length > 0) await client.query(`drop index concurrently ${index}`);
    await client.query(statement);
  }
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await recordApplied(client, { version, name, checksum });
}

const recordApplied = (client: pg.Client, { version, name, checksum }: Omit<Migration, 'sql'>) =>
  client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
    version,
    name,
    checksum,
  ]);
