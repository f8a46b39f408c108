/** The programs of the command line as users run them: each in its own process. */
import { join } from 'node:path';
import { type Child, startChild, waitForChild } from './child-process.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export interface ProgramOptions {
  /** For messages and for the name of the log. */
  readonly name: string;
  /** The folder for its log, and for the code that Node keeps compiled between starts. */
  readonly folder: string;
  /** Its whole environment, besides what any program needs to run. */
  readonly env: NodeJS.ProcessEnv;
}

/** Starts `tunnel-operator` with these arguments. */
export function startProgram(args: readonly string[], { name, folder, env }: ProgramOptions): Child {
  return startChild({
    name,
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', MAIN, ...args],
    logFile: join(folder, `${name}.log`),
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(folder, 'compiled'), ...env },
  });
}

/** Returns when a GET of `url` succeeds. */
export async function untilAnswering(child: Child, url: string): Promise<void> {
  await waitForChild(child, `respond at ${url}`, async () => (await fetch(url)).ok);
}
