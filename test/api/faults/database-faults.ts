/** Faults of the database or of a process under load. Each ends when everything is serving again. */
import pg from 'pg';
import type { Random } from '../../../dev/fixtures/random.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { ApiProcess } from './api-process.ts';
import type { Load } from './load.ts';
import type { LoadStage } from './load-stage.ts';

type LoadFault = (stage: LoadStage, random: Random) => Promise<void>;

/** Calls that each process acknowledges before the next fault, which shows that it has recovered. */
const SERVING = 15;

const recovered = ({ load }: { load: Load }) => load.progress(SERVING);

const TERMINATE = `
  select pg_terminate_backend(pid) from pg_stat_activity
   where datname = $1 and pid <> pg_backend_pid()`;

const IDLE = `select 1 from pg_stat_activity where datname = $1 and state like 'idle in transaction%'`;

/** Acts in a session of a superuser outside the service. */
async function withAdmin(stage: LoadStage, act: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: stage.databaseUrl });
  // When the test fails, the server may stop before this client.
  admin.on('error', () => {});
  await admin.connect();
  try {
    await act(admin);
  } finally {
    await admin.end();
  }
}

const MOST_STARTS = 5;

/** Restarts a process as a supervisor would: a start that fails because of the database is repeated. */
async function startAgain(api: ApiProcess): Promise<void> {
  for (let starts = 1; ; starts++) {
    try {
      return await api.start();
    } catch (error) {
      const isOfDatabase = error instanceof Error && error.message.includes('DATABASE_URL: cannot use the database');
      if (!isOfDatabase || starts === MOST_STARTS) throw error;
    }
  }
}

const terminate = ({ database }: LoadStage, admin: pg.Client) => admin.query(TERMINATE, [database]);

export const faults = {
  async 'Postgres is killed and started again'(stage) {
    await stage.postgres.crash();
    await stage.load.refusals(5);
    await stage.postgres.restart();
    await recovered(stage);
  },
  async 'all connections are ended by the server'(stage) {
    await withAdmin(stage, async (admin) => {
      for (let n = 0; n < 3; n++) {
        await terminate(stage, admin);
        await stage.load.progress(3);
      }
    });
    await recovered(stage);
  },
  async 'Postgres takes no new connections'(stage) {
    await withAdmin(stage, async (admin) => {
      await stage.postgres.pause();
      await terminate(stage, admin);
      await stage.load.refusals(3);
      await stage.postgres.resume();
    });
    await recovered(stage);
  },
  async 'every connection of the pools waits for a lock'(stage) {
    // Locking `events` stops transactions midway; locking `api_keys` stops requests at their start.
    for (const table of ['events', 'api_keys']) {
      await withAdmin(stage, async (admin) => {
        await admin.query('begin');
        await admin.query(`lock table ${table} in access exclusive mode`);
        await stage.load.refusals(5);
        await admin.query('rollback');
      });
    }
    await recovered(stage);
  },
  async 'the network is silent'(stage) {
    stage.proxy.freeze();
    // Only one process is behind the proxy; the other must go on.
    await stage.untilRefusedBehindProxy();
    stage.proxy.thaw();
    await recovered(stage);
  },
  async 'a process is killed and started again'(stage, random) {
    const api = random.oneOf<ApiProcess>(stage.processes);
    await api.kill();
    await recovered(stage);
    await startAgain(api);
    await recovered(stage);
  },
  async 'a process stands still in the middle of transactions'(stage, random) {
    const api = random.oneOf<ApiProcess>(stage.processes);
    api.pause();
    await withAdmin(stage, (admin) =>
      waitFor(
        'the server to end its transactions',
        async () => (await admin.query(IDLE, [stage.database])).rowCount === 0,
      ),
    );
    api.resume();
    await recovered(stage);
  },
  async 'a process and Postgres are killed together'(stage, random) {
    const api = random.oneOf<ApiProcess>(stage.processes);
    await Promise.all([api.kill(), stage.postgres.crash()]);
    await stage.load.refusals(3);
    await stage.postgres.restart();
    await startAgain(api);
    await recovered(stage);
  },
} satisfies Record<string, LoadFault>;
