/** schemathesis, a Python program, in its own virtual environment, which is created on first use. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../../src/postgres/lock.ts';
import { cacheRoot } from '../control-plane/binaries.ts';

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
/** The oldest version that schemathesis supports. */
const LEAST_PYTHON = '3.11';
const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];

const run = promisify(execFile);

/** schemathesis is unavailable; the message says why. */
export class SchemathesisUnavailable extends Error {
  override readonly name = 'SchemathesisUnavailable';
}

/**
 * Returns the path of the program, installing it if necessary (half a minute). Several processes may ask at the same
 * time.
 * @throws SchemathesisUnavailable without Python, or when the packages cannot be installed
 */
export async function ensureSchemathesis(): Promise<string> {
  const requirements = await readFile(REQUIREMENTS, 'utf8');
  const digest = createHash('sha256').update(requirements).digest('hex').slice(0, 12);
  const folder = join(cacheRoot(), `schemathesis-${digest}-${process.platform}-${process.arch}`);
  const program = join(folder, 'bin', 'schemathesis');
  await mkdir(dirname(folder), { recursive: true });
  await withLock(`${folder}.lock`, async () => {
    // Written last: an environment without it is incomplete.
    const complete = join(folder, '.complete');
    if (await exists(complete)) return;
    const python = await findPython();
    await rm(folder, { recursive: true, force: true });
    process.stderr.write(`installing schemathesis in ${folder}\n`);
    await must(python, ['-m', 'venv', folder]);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input'];
    await must(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', ...quiet, '--retries', '1', '-r', REQUIREMENTS]);
    await writeFile(complete, '');
  });
  return program;
}

async function findPython(): Promise<string> {
  const test = `import sys, venv, ensurepip; sys.exit(sys.version_info < (${LEAST_PYTHON.replace('.', ', ')}))`;
  for (const python of PYTHONS) {
    const fits = await run(python, ['-c', test]).then(
      () => true,
      () => false,
    );
    if (fits) return python;
  }
  throw new SchemathesisUnavailable(`Python ${LEAST_PYTHON} or later with the venv module is not installed`);
}

async function must(command: string, args: readonly string[]): Promise<void> {
  try {
    await run(command, args, { timeout: 300_000, killSignal: 'SIGKILL' });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const reason = stderr.trim().split('\n').at(-1) || String(error);
    throw new SchemathesisUnavailable(`it could not be installed: ${reason}`);
  }
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
