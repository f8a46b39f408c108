/** Installs our CustomResourceDefinitions in a cluster for tests. Only for test files. */
import { fileURLToPath } from 'node:url';
import { kubectlOn } from './kubectl.ts';

/** A pattern for kubectl: the folder also has a file for kustomize. */
const CRDS = fileURLToPath(new URL('../crds/tunnel-operator.dev_*.yaml', import.meta.url));

/** For a test's own cluster; harness.ts does it in the shared one. @throws Error with what kubectl said */
export async function installCrdsIn(cluster: Parameters<typeof kubectlOn>[0]): Promise<void> {
  // Client-side apply of two runs at once can lose a race; server-side apply merges.
  const applied = await kubectlOn(cluster, ['apply', '--server-side', '--force-conflicts', '-f', CRDS]);
  if (applied.code !== 0) throw new Error(applied.stderr);
  const waited = await kubectlOn(cluster, ['wait', '--for=condition=Established', '--timeout=60s', '-f', CRDS]);
  if (waited.code !== 0) throw new Error(waited.stderr);
}
