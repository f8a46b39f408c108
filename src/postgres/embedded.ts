/**
 * A real PostgreSQL from npm for machines that have none: initialised once under a data directory, started on a free
 * loopback port, started again when it dies, found again when the process that started it was killed.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { locate } from './binaries.ts';
import { openCluster } from './cluster.ts';
import { isRunning } from './is-running.ts';
import { freePort } from './ports.ts';
import { supervise } from './supervision.ts';

export interface EmbeddedOptions {
  /** Where the data lives; kept over restarts. */
  dataDir: string;
  /** Receives progress messages for people. */
  log?: (message: string) => void;
  /** Receives what happens to the server once it runs: that it died, and each attempt to start it again. */
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

/** Starts PostgreSQL on `dataDir`, or joins the one that already runs there. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log = () => undefined, warn = () => undefined } = options;
  const location = await locate(resolve(options.dataDir), log);
  const cluster = await openCluster(location, { log });
  const { dataDir } = location;
  let port = (await cluster.postmaster())?.port;
  let owned = (await takeOwnership(dataDir)) || port === undefined;
  let supervised = async () => {};
  const stop = async () => {
    await supervised();
    if (!owned) return;
    // One that has died, and could not be started again, has nothing to stop.
    if (await cluster.postmaster()) await cluster.stop();
    await rm(join(dataDir, OWNER_FILE), { force: true });
  };
  try {
    if (port === undefined) {
      port = await freePort();
      await cluster.start(port);
      log(`PostgreSQL is listening on 127.0.0.1:${port}`);
    } else {
      log(`using the PostgreSQL that is already running on 127.0.0.1:${port}`);
    }
    await ensureDatabase(cluster.url(port, 'postgres'));
    const lasting = port;
    supervised = supervise({
      isFine: async () => (await cluster.postmaster()) !== undefined || !(await takeOwnership(dataDir)),
      restart: async () => {
        owned = true;
        // The same port: it is in the connection strings.
        await cluster.start(lasting);
      },
      log: (message, error) => warn(error, message),
    });
    return { url: cluster.url(port, DATABASE), dataDir, stop };
  } catch (error) {
    // It may be up, or on its way. Where it never was, there is nothing to stop.
    await stop().catch(() => undefined);
    throw error;
  }
}

/** Whether this process must stop the server: no other living process started it. */
async function takeOwnership(dataDir: string): Promise<boolean> {
  const file = join(dataDir, OWNER_FILE);
  const owner = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10);
  if (Number.isInteger(owner) && owner !== process.pid && isRunning(owner)) return false;
  await writeFile(file, `${process.pid}\n`);
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
