/** Our CustomResourceDefinitions, installed in a cluster that tests work on. Only for test files. */
import { fileURLToPath } from 'node:url';
import { type CommandResult, kubectl } from './harness.ts';

const CRDS = fileURLToPath(new URL('../crds', import.meta.url));

let installed: Promise<void> | undefined;

/** In the shared control plane. Several files may do so at the same time: applying is idempotent. */
export function installCrds(): Promise<void> {
  installed ??= installCrdsBy(kubectl);
  return installed;
}

/** In the cluster that `run` talks to. @throws Error with what kubectl said */
export async function installCrdsBy(
  run: (args: readonly string[]) => Promise<Pick<CommandResult, 'code' | 'stderr'>>,
): Promise<void> {
  // Client-side apply of two files at once can lose a race; server-side apply merges.
  const applied = await run(['apply', '--server-side', '--force-conflicts', '-f', CRDS]);
  if (applied.code !== 0) throw new Error(applied.stderr);
  const waited = await run(['wait', '--for=condition=Established', '--timeout=60s', '-f', CRDS]);
  if (waited.code !== 0) throw new Error(waited.stderr);
}
