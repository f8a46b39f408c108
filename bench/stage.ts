/** What the API benches run on: their own PostgreSQL, with databases copied from a prepared one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createDatabase } from '../dev/database/databases.ts';
import { type Database, openDatabase } from '../src/api/store/database.ts';
import { migrate } from '../src/api/store/migrate.ts';
import { startTemporaryPostgres } from '../src/postgres/temporary.ts';
import { type Processes, startProcesses } from './processes.ts';

export interface Stage {
  /** A folder for temporary files. */
  folder: string;
  /** URL of a database with the schema and no rows. */
  url: string;
  /** Copies that database, to which nobody may be connected. */
  copy(name: string): Promise<string>;
  processes: Processes;
  stop(): Promise<void>;
}

/** With PostgreSQL's default settings: commits are flushed to disk. */
export async function startStage(): Promise<Stage> {
  const root = await mkdtemp(join(tmpdir(), 'tunnel-operator-bench-'));
  const processes = startProcesses();
  const postgres = await startTemporaryPostgres();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      await processes.stop();
      await postgres.stop();
      await rm(root, { recursive: true, force: true });
    })();
    return stopping;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop().finally(() => process.exit(128 + constants.signals[signal])));
  }
  try {
    const template = 'bench';
    const url = await createDatabase(postgres.url, template);
    await migrate(url);
    return { folder: root, url, processes, stop, copy: (name) => createDatabase(postgres.url, name, { template }) };
  } catch (error) {
    await stop();
    throw error;
  }
}

export const openPool = (url: string, poolSize = 4): Database =>
  openDatabase({ url, poolSize, statementTimeoutMs: 600_000, connectTimeoutMs: 5_000 });

/** Runs one statement on a separate connection. */
export async function runOnce(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
