/**
 * npm run setup [-- name …]
 *
 * Makes sure that everything the tests and the demo need is available: by default the control plane and helm;
 * `promtool`, `kstatus`, `lua` and `pebble` only by name.
 */
import { BinaryUnavailable, ensureBinaries } from '../dev/control-plane/binaries.ts';
import type { BinaryName } from '../dev/control-plane/binary-name.ts';
import { formatProgress } from '../dev/control-plane/progress.ts';

const REQUIRED = ['etcd', 'kube-apiserver', 'kubectl', 'helm'] as const;
const KNOWN: readonly BinaryName[] = [...REQUIRED, 'kube-controller-manager', 'promtool', 'kstatus', 'lua', 'pebble'];

/** Finds, fetches or builds the control plane's binaries, and reports progress on standard error. */
export async function ensureControlPlaneBinaries(): Promise<void> {
  // All together, so that one build makes them all; without the controller manager if that is unavailable.
  try {
    await ensure([...REQUIRED, 'kube-controller-manager']);
  } catch (error) {
    if (!(error instanceof BinaryUnavailable) || error.binary !== 'kube-controller-manager') throw error;
    await ensure(REQUIRED);
    say(`${error.message}\nTests that need garbage collection or service accounts will be skipped.`);
  }
}

async function ensure(names: readonly BinaryName[]): Promise<void> {
  const paths = await ensureBinaries(names, { onProgress: (progress) => say(formatProgress(progress)) });
  if (import.meta.main) for (const name of names) say(`${name}: ${paths[name]}`);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

if (import.meta.main) {
  const asked = process.argv.slice(2);
  const names = KNOWN.filter((name) => asked.includes(name));
  const unknown = asked.filter((name) => !KNOWN.some((known) => known === name));
  try {
    if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; choose from ${KNOWN.join(', ')}`);
    await (asked.length === 0 ? ensureControlPlaneBinaries() : ensure(names));
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
