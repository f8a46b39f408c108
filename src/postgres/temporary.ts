/** A PostgreSQL for the demo, tests and benches: neither it nor its data outlives this process. */
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Binaries, type Location, locate } from './binaries.ts';
import { type Cluster, openCluster, type Postmaster } from './cluster.ts';
import { freePort } from './ports.ts';

export interface TemporaryOptions {
  /** Server parameters. Default: PostgreSQL's own. */
  settings?: Readonly<Record<string, string | number>>;
  /** Default: those of the npm package. */
  binaries?: Binaries | undefined;
  /** Makes the data directory instead of initdb, for example from that of another server. */
  fill?: (location: Location) => Promise<void>;
}

export interface TemporaryPostgres {
  /** Connection string of a superuser to the database `postgres`. The server listens only on 127.0.0.1. */
  url: string;
  dataDir: string;
  /** The server's main process; undefined when it does not run. */
  postmaster(): Promise<Postmaster | undefined>;
  /** Starts it again on the same port and data, after it was killed or in place of a running one. */
  restart(): Promise<void>;
  /** Stops the server and removes its data. May be called again. */
  stop(): Promise<void>;
}

/** Starts a server with an empty cluster; its data is removed even if this process is killed by SIGKILL. */
export async function startTemporaryPostgres(options: TemporaryOptions = {}): Promise<TemporaryPostgres> {
  const { settings = {}, fill, binaries } = options;
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-postgres-'));
  // If this process is root, PostgreSQL runs as another user, who must be able to reach its data.
  await chmod(folder, 0o711);
  const log = () => undefined;
  let location: Location;
  try {
    location = await locate(join(folder, 'postgres'), log, binaries);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  const { dataDir } = location;
  // If the server's user cannot enter the temporary directory, its data is not in our folder.
  const folders = [...new Set([dirname(dataDir), folder])];
  const dismissWatcher = watch(dataDir, folders);
  let cluster: Cluster | undefined;
  const end = async () => {
    const running = await cluster?.postmaster();
    if (running) await cluster?.stop().catch(() => process.kill(running.pid, 'SIGKILL'));
  };
  const stop = async () => {
    await end();
    for (const path of folders) await rm(path, { recursive: true, force: true, maxRetries: 3 });
    dismissWatcher();
  };
  try {
    await fill?.(location);
    const opened = await openCluster(location, { settings, log });
    cluster = opened;
    const port = await freePort();
    await opened.start(port);
    const restart = async () => {
      await end();
      await opened.start(port);
    };
    return { url: opened.url(port, 'postgres'), dataDir, postmaster: opened.postmaster, restart, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Neither finally clauses nor exit hooks run when a process is killed by SIGKILL, so a shell waits for the end of a pipe
 * that this process alone holds open. A line in it says that there is nothing left to do.
 */
const WATCHER = `
read -r line && exit
pid=$(head -n 1 "$1/postmaster.pid") && kill -KILL "$pid"
shift
sleep 1
rm -rf -- "$@"
`;

/** Returns the function that ends the watch. */
function watch(dataDir: string, folders: readonly string[]): () => void {
  const watcher = spawn('/bin/sh', ['-c', WATCHER, 'postgres-watcher', dataDir, ...folders], {
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    // A process group of its own, so that Ctrl-C in a terminal does not reach it.
    detached: true,
  });
  const { stdin } = watcher;
  stdin.on('error', () => undefined);
  // Neither may keep this process alive.
  if (stdin instanceof Socket) stdin.unref();
  watcher.unref();
  return () => {
    stdin.end('\n');
  };
}
