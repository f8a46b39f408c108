/** What the operators of a test file share, so that each need not compile everything. Only for test files. */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

let folder: Promise<string> | undefined;

/** The folder, for NODE_COMPILE_CACHE. */
export function compileCache(): Promise<string> {
  folder ??= warm();
  return folder;
}

/**
 * Node.js writes it when a process ends by itself, which operators here do not: without this, each start would compile
 * everything again, for a tenth more of processor time.
 */
async function warm(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'tunnel-operator-compiled-'));
  const load = `import(${JSON.stringify(join(import.meta.dirname, '../../src/operator/operator.ts'))})`;
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: made };
  await promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', load], { env });
  return made;
}
