/** Runs a command of the program in its own process, as users do. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { CommandResult } from '../harness.ts';
import { ROOT } from './stack.ts';

const MAIN = join(ROOT, 'src/main.ts');

export function runCommand(args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [MAIN, ...args],
      { env: { PATH: process.env.PATH, ...env }, maxBuffer: 1 << 26 },
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}
