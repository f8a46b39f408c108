/** Two API processes on one database, in a Postgres of its own. One of them connects through a proxy. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect } from 'vitest';
import { createDatabase } from '../../../dev/database/databases.ts';
import { type Postgres, startPostgres } from '../../../dev/database/postgres.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { atEnd } from '../../end-of-file.ts';
import { ApiProcess, removeFolder } from './api-process.ts';
import { brokenInvariants, type Query } from './invariants.ts';
import { Load } from './load.ts';
import { Stored, wronglyServed } from './stored.ts';
import { stories } from './stories.ts';
import { WireProxy } from './wire-proxy.ts';

const API_KEY = 'tnl_ak_of_the_writers_0123456789012345';
export const DATABASE = 'under_load';
export const WRITERS = 20;

/** Short timeouts, so that faults can be brief; fewer connections than writers. */
const SETTINGS = {
  DATABASE_POOL_SIZE: '6',
  DATABASE_CONNECT_TIMEOUT: '1s',
  DATABASE_STATEMENT_TIMEOUT: '1500ms',
  LOG_LEVEL: 'warn',
};

export interface LoadStage {
  readonly postgres: Postgres;
  readonly database: string;
  readonly databaseUrl: string;
  readonly processes: readonly ApiProcess[];
  readonly proxy: WireProxy;
  readonly load: Load;
  untilRefusedBehindProxy(): Promise<unknown>;
}

export async function startProcess(name: string, databaseUrl: string): Promise<ApiProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-load-'));
  atEnd(removeFolder(folder));
  const api = await ApiProcess.start({ folder, name, databaseUrl, apiKey: API_KEY, env: SETTINGS });
  atEnd(() => api.stop());
  return api;
}

/** Starts Postgres, the proxy, both processes and the writers. */
export async function openLoadStage(seed: number): Promise<LoadStage> {
  const postgres = await startPostgres();
  atEnd(() => postgres.stop());
  const databaseUrl = await createDatabase(postgres.url, DATABASE);
  await migrate(databaseUrl);
  const proxy = await WireProxy.start(databaseUrl);
  atEnd(() => proxy.close());
  const processes = [await startProcess('direct', databaseUrl), await startProcess('behind-proxy', proxy.url)];
  const load = startLoad(processes, seed);
  const untilRefusedBehindProxy = () => load.refusals(3, processes.slice(1));
  return { postgres, database: DATABASE, databaseUrl, processes, proxy, load, untilRefusedBehindProxy };
}

export function startLoad(processes: readonly ApiProcess[], seed: number): Load {
  const load = new Load(processes);
  load.start(stories, WRITERS, seed);
  atEnd(() => load.stop());
  return load;
}

/** Stops the writers and compares what is stored and served with what they have recorded. */
export async function expectNothingLostOrDoubled({
  load,
  processes,
  databaseUrl,
}: Pick<LoadStage, 'load' | 'processes' | 'databaseUrl'>): Promise<void> {
  await load.stop();
  expect(load.violations).toEqual([]);
  const client = new pg.Client({ connectionString: databaseUrl, types: { getTypeParser } });
  await client.connect();
  const query: Query = async (text, values = []) => (await client.query(text, values)).rows;
  try {
    const stored = await Stored.read(query);
    const wrong = load.tracked.flatMap(({ mark, possible, observe }) => {
      const actual = observe(stored);
      return possible.includes(actual) ? [] : [`${mark} is ${JSON.stringify(actual)}, not ${possible}`];
    });
    expect(wrong).toEqual([]);
    expect(await brokenInvariants(query)).toEqual([]);
    for (const api of processes) expect(await wronglyServed(api.client, stored, query)).toEqual([]);
  } finally {
    await client.end();
  }
  for (const [index, [id, token]] of [...load.tokens].entries()) {
    const answer = await processes[index % processes.length]?.client.authenticate({ token });
    expect(answer).toMatchObject({ allowed: true, credential_id: id });
  }
}

/** Parses int8, the type of counters, as a number. */
function getTypeParser(oid: number) {
  return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid);
}
