/** A compile cache that the operators of a test file share, so that not each compiles everything. For test files. */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

let folder: Promise<string> | undefined;

/** Returns the folder for NODE_COMPILE_CACHE. */
export function compileCache(): Promise<string> {
  folder ??= warm();
  return folder;
}

/**
 * Node.js writes the cache when a process exits by itself, which the operators here do not. Without this warm-up, each
 * start would compile everything again, for a tenth more processor time.
 */
async function warm(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'tunnel-operator-compiled-'));
  const load = `import(${JSON.stringify(join(import.meta.dirname, '../../src/operator/operator.ts'))})`;
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: made };
  await promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', load], { env });
  return made;
}
