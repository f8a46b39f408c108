/** The client generators, each in its own folder outside the checkout, installed on first use with locked versions. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../../src/postgres/lock.ts';
import { cacheRoot } from '../control-plane/binaries.ts';

const HERE = import.meta.dirname;
const LONGEST_MS = 300_000;
/** The oldest version that openapi-python-client supports. */
const LEAST_PYTHON = '3.11';

export const run = promisify(execFile);

/** A generator is unavailable; the message says why. */
export class ToolsUnavailable extends Error {
  override readonly name = 'ToolsUnavailable';
}

/** The folder with `node_modules`. @throws ToolsUnavailable when the packages cannot be installed */
export function ensureNodeTools(): Promise<string> {
  return installed('node-clients', ['package.json', 'package-lock.json'], async (folder) => {
    for (const file of ['package.json', 'package-lock.json']) await copyFile(join(HERE, file), join(folder, file));
    await must('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], folder);
  });
}

/** The folder of a virtual environment. @throws ToolsUnavailable without Python, or when the packages cannot be installed */
export function ensurePythonTools(): Promise<string> {
  return installed('python-clients', ['requirements.txt'], async (folder) => {
    const fits = `import sys, venv, ensurepip; sys.exit(sys.version_info < (${LEAST_PYTHON.replace('.', ', ')}))`;
    await run('python3', ['-c', fits]).catch(() => {
      throw new ToolsUnavailable(`Python ${LEAST_PYTHON} or later with the venv module is not installed`);
    });
    await must('python3', ['-m', 'venv', folder], HERE);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1'];
    await must(join(folder, 'bin/python'), ['-m', 'pip', 'install', ...quiet, '-r', 'requirements.txt'], HERE);
  });
}

async function installed(
  name: string,
  files: readonly string[],
  install: (folder: string) => Promise<void>,
): Promise<string> {
  const digest = createHash('sha256');
  for (const file of files) digest.update(await readFile(join(HERE, file)));
  const version = digest.digest('hex').slice(0, 12);
  const folder = join(cacheRoot(), `${name}-${version}-${process.platform}-${process.arch}`);
  await mkdir(dirname(folder), { recursive: true });
  await withLock(`${folder}.lock`, async () => {
    // Written last: a folder without it is incomplete.
    const complete = join(folder, '.complete');
    const exists = await access(complete).then(
      () => true,
      () => false,
    );
    if (exists) return;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    process.stderr.write(`installing generators of clients in ${folder}\n`);
    await install(folder);
    await writeFile(complete, '');
  });
  return folder;
}

async function must(command: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await run(command, args, { cwd, timeout: LONGEST_MS, killSignal: 'SIGKILL' });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new ToolsUnavailable(`it could not be installed: ${stderr.trim().split('\n').at(-1) || String(error)}`);
  }
}
