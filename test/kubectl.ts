/** kubectl against a cluster that is not the shared one. */
import { execFile } from 'node:child_process';
import type { CommandResult } from '../harness.ts';

/** A failure is a result too: look at `code`. */
export function kubectlOn(
  { kubectlPath, kubeconfigPath }: { kubectlPath: string; kubeconfigPath: string },
  args: readonly string[],
  options: { readonly input?: string } = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(kubectlPath, ['--kubeconfig', kubeconfigPath, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    child.stdin?.end(options.input ?? '');
  });
}
