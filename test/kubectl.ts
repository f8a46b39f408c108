/** Runs kubectl. */
import { execFile } from 'node:child_process';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * For a test's own cluster; harness.ts has `kubectl` for the shared one. Does not throw on failure: look at `code`.
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
    // A kubectl that exits early does not read all of its input; its exit code tells why.
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
  });
}
