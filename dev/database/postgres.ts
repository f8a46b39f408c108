/** The PostgreSQL that tests use: fast writes, and it can be crashed and paused. */
import { startTemporaryPostgres, type TemporaryOptions } from '../../src/postgres/temporary.ts';
import { type ProcessStats, processStats } from '../processes/stats.ts';
import { waitFor } from '../processes/wait.ts';

export interface Postgres {
  /** A superuser's URL to the database `postgres`. The server listens only on 127.0.0.1. */
  readonly url: string;
  /** The folder with its data and its log (`server.log`) while it runs. */
  readonly dataDir: string;
  /** The server's main process and its current resource usage. */
  stats(): Promise<ProcessStats[]>;
  /** Stops the server and removes its data. May be called again. */
  stop(): Promise<void>;
  /** SIGKILL: connections break, nothing is flushed. The data stays. */
  crash(): Promise<void>;
  /**
   * Starts it again on the same port and data, after `crash` or in place of a running one; returns when it accepts
   * connections.
   */
  restart(): Promise<void>;
  /** SIGSTOP of the server's main process: new connections hang. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** `TEST_POSTGRES` names the folder of another version's binaries, such as those of the oldest that the API supports. */
const { TEST_POSTGRES } = process.env;
const binaries = TEST_POSTGRES ? { bin: TEST_POSTGRES, version: 'of-test' } : undefined;

const SETTINGS = {
  max_connections: 300,
  // Writes need not survive a power failure. They must survive `crash`, so synchronous_commit stays on: without fsync,
  // it costs a write but no flush.
  fsync: 'off',
  full_page_writes: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** Starts a server with an empty cluster. It does not outlive this process, even if that is killed by SIGKILL. */
export async function startPostgres(
  options: Omit<TemporaryOptions, 'settings'> & { readonly log?: (line: string) => void } = {},
): Promise<Postgres> {
  const startedAt = performance.now();
  const { log, ...others } = options;
  const server = await startTemporaryPostgres({ settings: SETTINGS, binaries, ...others });
  const { url, dataDir } = server;
  const signal = async (name: NodeJS.Signals) => {
    const running = await server.postmaster();
    if (running) process.kill(running.pid, name);
  };
  const resume = () => signal('SIGCONT');
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  log?.(`PostgreSQL ready on port ${new URL(url).port} after ${seconds} s`);
  return {
    url,
    dataDir,
    stats: async () => {
      const running = await server.postmaster();
      return processStats(running ? [{ name: 'postgres', pid: running.pid }] : []);
    },
    stop: async () => {
      // A paused server would not react, and the stop would hang.
      await resume();
      await server.stop();
    },
    crash: async () => {
      await signal('SIGKILL');
      await waitFor('PostgreSQL to end', async () => (await server.postmaster()) === undefined, { intervalMs: 5 });
    },
    restart: async () => {
      await resume();
      // After a crash the old server's children may hold its shared memory for a moment, which keeps a new one from
      // starting.
      await waitFor('PostgreSQL to start', () => server.restart().then(() => true), { intervalMs: 200 });
    },
    pause: () => signal('SIGSTOP'),
    resume,
  };
}
