/** promtool, which checks rules, their unit tests and metrics. Only for test files. */
import { execFile } from 'node:child_process';
import type { CommandResult } from '../harness.ts';
import { optionalBinary } from './optional-binary.ts';

const program = await optionalBinary('promtool');

/** Why there is none; undefined if there is. */
export const LACKS_PROMTOOL = program.lacks;

/** A failure is a result too: look at `code`. */
export function promtool(args: readonly string[], input = ''): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(program.path(), args, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    child.stdin?.end(input);
  });
}
