/** What benches of the API run on: a PostgreSQL of their own, with databases that are copies of a prepared one. */
import { constants } from 'node:os';
import pg from 'pg';
import { createDatabase } from '../dev/database/databases.ts';
import { migrate } from '../src/api/store/migrate.ts';
import { startTemporaryPostgres } from '../src/postgres/temporary.ts';
import { type Processes, startProcesses } from './processes.ts';

export interface Stage {
  /** Address of a database with the schema and nothing in it. */
  url: string;
  /** A copy of that database, to which nobody may be connected. */
  copy(name: string): Promise<string>;
  /** A database without anything. */
  empty(name: string): Promise<string>;
  processes: Processes;
  stop(): Promise<void>;
}

/** With the settings that PostgreSQL has by default: what is committed is on the disk. */
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

/** Runs one statement on a connection of its own. */
export async function runOnce(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
