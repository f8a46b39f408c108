/** The programs of the command line as users run them: each in its own process. */
import { join } from 'node:path';
import { type Child, startChild, waitForChild } from './child-process.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

interface ProgramOptions {
  /** For messages and for the name of the log. */
  readonly name: string;
  /** The folder for its log, and for the code that Node keeps compiled between starts. */
  readonly folder: string;
  /** What to run. Default: the sources, whose types Node.js strips as it loads them. */
  readonly main?: string;
  /** Flags for Node.js, such as `--watch`. */
  readonly node?: readonly string[];
  /** Its whole environment, apart from what any program needs to run. */
  readonly env: NodeJS.ProcessEnv;
  /** Limit on its open files and sockets. Default: that of this process. */
  readonly descriptors?: number | undefined;
}

/** Lowers the limit in a shell that then becomes the program. */
const LIMITED = 'ulimit -n "$0" && exec "$@"';

/** Starts `tunnel-operator` with these arguments. */
export function startProgram(
  args: readonly string[],
  { name, folder, env, descriptors, main = MAIN, node = [] }: ProgramOptions,
): Child {
  const program = [process.execPath, '--disable-warning=ExperimentalWarning', ...node, main, ...args];
  const [command = '', ...rest] =
    descriptors === undefined ? program : ['/bin/sh', '-c', LIMITED, String(descriptors), ...program];
  return startChild({
    name,
    command,
    args: rest,
    logFile: join(folder, `${name}.log`),
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(folder, 'compiled'), ...env },
  });
}

const ANSWER_MS = 5000;

/** Returns when a GET of `url` succeeds. */
export async function untilAnswering(child: Child, url: string): Promise<void> {
  // A server that accepts the connection but never answers is asked again.
  const ask = () => fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
  await waitForChild(child, `respond at ${url}`, async () => (await ask()).ok);
}
