/** A Go module for a version of Kubernetes other than the pinned one. Go's checksum database stands in for a go.sum. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const download = z.object({ GoMod: z.string() });

/**
 * Writes the module below `directory` and returns its folder.
 * @param version such as `1.32.2`
 */
export async function otherKubernetes(version: string, directory: string): Promise<string> {
  const args = ['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`];
  const { stdout } = await promisify(execFile)('go', args, { cwd: directory });
  const { GoMod } = download.parse(JSON.parse(stdout));
  const folder = join(directory, 'module');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'go.mod'), goMod(version, await readFile(GoMod, 'utf8')));
  return folder;
}

/** Kubernetes replaces its staging modules by folders of its repository; here, by their releases. */
function goMod(version: string, original: string): string {
  const staging = [...original.matchAll(/^\t(k8s\.io\/\S+) v0\.0\.0$/gm)].map(([, module]) => module);
  const release = `v0.${version.split('.').slice(1).join('.')}`;
  return [
    'module tunnel-operator.dev/dev/control-plane/other-kubernetes',
    ...(original.match(/^go(debug)? .*$/gm) ?? []),
    `require k8s.io/kubernetes v${version}`,
    ...staging.map((module) => `replace ${module} => ${module} ${release}`),
    '',
  ].join('\n');
}
