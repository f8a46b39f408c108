/** Two API processes that know two database servers by one URL: a primary, and its synchronous standby. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../../../dev/database/databases.ts';
import { type Postgres, startPostgres } from '../../../dev/database/postgres.ts';
import { replicateSynchronously, startStandby } from '../../../dev/database/standby.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { atEnd } from '../harness.ts';
import { ApiProcess, removeFolder } from './api-process.ts';
import type { Load } from './load.ts';
import { API_KEY, DATABASE, SETTINGS, startLoad } from './load-stage.ts';

export interface FailoverStage {
  /** In the order of `DATABASE_URL`. */
  readonly servers: readonly [Postgres, Postgres];
  readonly processes: readonly ApiProcess[];
  /** As the processes have it. */
  readonly databaseUrl: string;
  readonly load: Load;
}

/** Starts it all, and the writers. */
export async function openFailoverStage(seed: number): Promise<FailoverStage> {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-failover-'));
  atEnd(removeFolder(folder));
  const primary = await startPostgres();
  atEnd(() => primary.stop());
  await migrate(await createDatabase(primary.url, DATABASE));
  const standby = await startStandby(primary);
  atEnd(() => standby.stop());
  await replicateSynchronously(primary);
  const databaseUrl = severalHosts(primary, standby);
  const processes = await Promise.all(
    ['first', 'second'].map(async (name) => {
      const api = await ApiProcess.start({ folder, name, databaseUrl, apiKey: API_KEY, env: SETTINGS });
      atEnd(() => api.stop());
      return api;
    }),
  );
  return { servers: [primary, standby], processes, databaseUrl, load: startLoad(processes, seed) };
}

/** A server's URL to the database that the processes use. */
export function databaseOn({ url }: Postgres): string {
  const its = new URL(url);
  its.pathname = `/${DATABASE}`;
  return its.href;
}

function severalHosts(...servers: Postgres[]): string {
  const [first, ...others] = servers.map(databaseOn).map((url) => new URL(url));
  if (!first) throw new Error('no server');
  return first.href.replace(first.host, [first, ...others].map(({ host }) => host).join(','));
}
