/**
 * A real PostgreSQL from npm for machines that have none: initialised once under a data directory, started on a free
 * loopback port, restarted when it dies, and found again after the process that started it was killed.
 */
import { constants } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { codeOf } from '../errors.ts';
import { locate } from './binaries.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { isStillRunning, startOf } from './is-running.ts';
import { withLock } from './lock.ts';
import { freePort } from './ports.ts';
import { supervise } from './supervision.ts';

export interface EmbeddedOptions {
  /** Where the data lives; kept across restarts. */
  dataDir: string;
  /** Receives progress messages for people. */
  log?: (message: string) => void;
  /** Receives what happens to the running server: that it died, and each attempt to restart it. */
  warn?: (error: unknown, message: string) => void;
}

export interface EmbeddedPostgres {
  url: string;
  dataDir: string;
  /** Stops the server, unless another living process started it. */
  stop(): Promise<void>;
}

const DATABASE = 'tunnel_operator';
const OWNER_FILE = 'tunnel-operator.owner';

/** Errors of a server that is starting or stopping. */
const CANNOT_CONNECT_NOW = '57P03';
const STARTING_OR_STOPPING = new Set([CANNOT_CONNECT_NOW, 'ECONNREFUSED', 'ECONNRESET']);

const STARTS_WITHIN_MS = 60_000;
const POLL_MS = 100;

/** Starts PostgreSQL on `dataDir`, or joins the one that already runs there. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log = () => undefined, warn = () => undefined } = options;
  const location = await locate(resolve(options.dataDir), log);
  const { dataDir } = location;
  const alone = oneAtATime(dataDir, log);
  let owned = false;

  async function start(cluster: Cluster, port: number): Promise<void> {
    await claim(dataDir);
    owned = true;
    await cluster.start(port);
  }

  async function end(cluster: Cluster): Promise<void> {
    if (!owned) return;
    // If the server died and could not be restarted, there is nothing to stop.
    if (await cluster.postmaster()) await cluster.stop();
    await rm(ownerFile(dataDir), { force: true });
    owned = false;
  }

  /** Returns the port once the server answers on it. */
  async function startOrJoin(cluster: Cluster): Promise<number> {
    let status = 'using the PostgreSQL that is already running';
    for (const deadline = Date.now() + STARTS_WITHIN_MS; ; await delay(POLL_MS)) {
      let port = (await cluster.postmaster())?.port;
      if (port === undefined) {
        port = await freePort();
        await start(cluster, port);
        status = 'PostgreSQL is listening';
      } else if (!(await hasOtherOwner(dataDir))) {
        await claim(dataDir);
        owned = true;
      }
      try {
        await ensureDatabase(withoutTls(cluster.url(port, 'postgres')));
        log(`${status} on 127.0.0.1:${port}`);
        return port;
      } catch (error) {
        if (!STARTING_OR_STOPPING.has(codeOf(error) ?? '') || Date.now() > deadline) throw error;
      }
    }
  }

  const { cluster, port } = await alone(async () => {
    const opened = await openCluster(location, { log });
    try {
      return { cluster: opened, port: await startOrJoin(opened) };
    } catch (error) {
      // The server may be running or starting. If it never started, there is nothing to stop.
      await end(opened).catch(() => undefined);
      throw error;
    }
  });
  const dismiss = supervise({
    isHealthy: async () => (await cluster.postmaster()) !== undefined || hasOtherOwner(dataDir),
    restart: () =>
      alone(async () => {
        // Another process that has joined may have been faster. The port stays the same, since connection strings
        // contain it.
        if (!(await cluster.postmaster())) await start(cluster, port);
      }),
    log: (message, error) => warn(error, message),
  });
  const stop = async () => {
    await dismiss();
    if (owned) await alone(() => end(cluster));
  };
  return { url: withoutTls(cluster.url(port, DATABASE)), dataDir, stop };
}

/** PGSSLMODE is meant for other servers. */
const withoutTls = (url: string) => `${url}?sslmode=disable`;

/** Starts and stops on one data directory exclude each other, even across processes. */
function oneAtATime(dataDir: string, log: (message: string) => void) {
  return <T>(action: () => Promise<T>): Promise<T> => {
    const reported = new Set<number>();
    const onWait = (pid: number) => {
      if (!reported.has(pid)) log(`process ${pid} is starting or stopping PostgreSQL in ${dataDir}; waiting for it`);
      reported.add(pid);
    };
    return withLock(`${dataDir}.lock`, action, { onWait, intervalMs: POLL_MS });
  };
}

const ownerFile = (dataDir: string) => join(dataDir, OWNER_FILE);

/** Whether it is up to another living process to stop the server. */
async function hasOtherOwner(dataDir: string): Promise<boolean> {
  const [pid, started] = (await readFile(ownerFile(dataDir), 'utf8').catch(() => '')).trim().split(' ');
  return Number(pid) > 0 && Number(pid) !== process.pid && isStillRunning(Number(pid), started);
}

async function claim(dataDir: string): Promise<void> {
  // The folder may belong to another user, whose links could lead anywhere.
  const flag = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
  await writeFile(ownerFile(dataDir), `${process.pid} ${startOf(process.pid) ?? ''}\n`, { flag });
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
