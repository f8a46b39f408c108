/** Runs kubectl. */
import { execFile } from 'node:child_process';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Against a cluster of your own; for the shared one, harness.ts has `kubectl`. A failure is a result too: look at `code`.
 * @param options.input its standard input, for `apply -f -`.
 */
export function kubectlOn(
  { kubectlPath, kubeconfigPath }: { readonly kubectlPath: string; readonly kubeconfigPath: string },
  args: readonly string[],
  options: { readonly input?: string } = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const all = ['--kubeconfig', kubeconfigPath, ...args];
    const child = execFile(kubectlPath, all, { maxBuffer: 64 * 1024 ** 2 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    // One that ends early does not read it all; its exit code tells why.
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
  });
}
