/**
 * A streaming standby. The embedded binaries have no pg_basebackup, so this copies the files as the PostgreSQL manual
 * describes ("Making a Base Backup Using the Low Level API").
 */
import { appendFile, chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Client } from 'pg';
import { z } from 'zod';
import { type Postgres, startPostgres } from '../../../dev/database/postgres.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import { type Location, run } from '../../../src/postgres/binaries.ts';

/** Starts a standby of a running server; returns when it is streaming. */
export async function startStandby(primary: Postgres): Promise<Postgres> {
  const standby = await startPostgres({ fill: (location) => copy(primary, location) });
  const streams = "select from pg_stat_replication where state = 'streaming'";
  await waitFor('the standby to stream', async () => (await ask(primary, streams)).length > 0);
  return standby;
}

/** Makes each commit wait until a standby has it. */
export async function replicateSynchronously(primary: Postgres): Promise<void> {
  await ask(primary, "alter system set synchronous_standby_names = '*'");
  await ask(primary, 'select pg_reload_conf()');
  const isSync = "select from pg_stat_replication where sync_state = 'sync'";
  await waitFor('the replication to be synchronous', async () => (await ask(primary, isSync)).length > 0);
}

/** Returns when the standby accepts writes. */
export async function promote(standby: Postgres): Promise<void> {
  await ask(standby, 'select pg_promote(true, 60)');
}

async function ask(server: Postgres, text: string): Promise<unknown[]> {
  return withClient(server, async (client) => (await client.query(text)).rows);
}

async function withClient<T>(server: Postgres, action: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: server.url, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
  }
}

/** Files of the running server that the copy omits. The write-ahead log arrives by streaming. */
const LEFT_OUT = new Set(['pg_wal', 'postmaster.pid', 'postmaster.opts', 'server.log', 'standby.signal']);

const stopped = z.object({ labelfile: z.string() });

async function copy(primary: Postgres, { dataDir, identity }: Location): Promise<void> {
  const { port, username, password } = new URL(primary.url);
  await withClient(primary, async (client) => {
    await client.query("select pg_backup_start('standby', true)");
    const filter = (path: string) => dirname(path) !== primary.dataDir || !LEFT_OUT.has(basename(path));
    await cp(primary.dataDir, dataDir, { recursive: true, filter });
    // Must run in the same session: the server aborts a backup when its session ends.
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await writeFile(join(dataDir, 'backup_label'), stopped.parse(rows[0]).labelfile);
  });
  await mkdir(join(dataDir, 'pg_wal'));
  const source = `host=127.0.0.1 port=${port} user=${username} password=${password}`;
  await appendFile(join(dataDir, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
  await writeFile(join(dataDir, 'standby.signal'), '');
  await chmod(dataDir, 0o700);
  if (identity) await run('chown', ['-R', `${identity.uid}:${identity.gid}`, dataDir]);
}
