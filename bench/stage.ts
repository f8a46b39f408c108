/** What API benches run on: their own PostgreSQL, whose databases are copies of a prepared one. */
import { constants } from 'node:os';
import pg from 'pg';
import { createDatabase } from '../dev/database/databases.ts';
import { migrate } from '../src/api/store/migrate.ts';
import { startTemporaryPostgres } from '../src/postgres/temporary.ts';
import { type Processes, startProcesses } from './processes.ts';

export interface Stage {
  /** Address of a database with the schema and nothing in it. */
  url: string;
  /** Copies that database, which must have no open connections. */
  copy(name: string): Promise<string>;
  /** An empty database. */
  empty(name: string): Promise<string>;
  processes: Processes;
  stop(): Promise<void>;
}

/** Uses PostgreSQL's defaults, so a commit is on the disk. */
export async function startStage(): Promise<Stage> {
  const processes = startProcesses();
  const postgres = await startTemporaryPostgres();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      await processes.stop();
      await postgres.stop();
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
    return {
      url,
      processes,
      stop,
      copy: (name) => createDatabase(postgres.url, name, { template }),
      empty: (name) => createDatabase(postgres.url, name),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs one statement on its own connection. */
export async function runOnce(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
