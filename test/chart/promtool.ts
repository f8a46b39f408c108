/** promtool, which checks rules, their unit tests and metrics. Only for test files. */
import { execFile } from 'node:child_process';
import { BinaryUnavailable, ensureBinaries } from '../../dev/control-plane/binaries.ts';
import type { CommandResult } from '../harness.ts';

const found = await ensureBinaries(['promtool']).catch((error: unknown) => {
  if (error instanceof BinaryUnavailable) return error;
  throw error;
});

/** Why there is none; undefined if there is. */
export const LACKS_PROMTOOL = found instanceof BinaryUnavailable ? found.message : undefined;

/** A failure is a result too: look at `code`. */
export function promtool(args: readonly string[], input = ''): Promise<CommandResult> {
  if (found instanceof BinaryUnavailable) throw found;
  return new Promise((resolve) => {
    const child = execFile(found.promtool, args, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    child.stdin?.end(input);
  });
}
