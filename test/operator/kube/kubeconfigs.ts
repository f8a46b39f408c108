/** Kubeconfigs in a folder. Only for test files. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { stringify } from 'yaml';
import { loadKubeConfig } from '../../../src/operator/kube/kube-config.ts';

export const SERVER = 'https://127.0.0.1:1';

/** A kubeconfig whose only user has these members. */
export async function configOf(folder: string, user: object, cluster: object = {}): Promise<KubeConfig> {
  const file = join(folder, 'kubeconfig');
  const text = stringify({
    clusters: [{ name: 'c', cluster: { server: SERVER, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
  await writeFile(file, text);
  return loadKubeConfig(file);
}
