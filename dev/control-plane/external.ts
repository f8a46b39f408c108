import { readFile } from 'node:fs/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { ensureBinaries } from './binaries.ts';
import type { ControlPlane } from './control-plane-handle.ts';

/** Thrown when a test tries to kill or pause an external cluster. */
class NotOurCluster extends Error {
  override readonly name = 'NotOurCluster';
  constructor(verb: string) {
    super(`cannot ${verb} the API server: the cluster of TEST_KUBECONFIG must not be disturbed`);
  }
}

/** The cluster of an existing kubeconfig (kind, k3d, …). It is used as it is and never stopped. */
export async function externalControlPlane(kubeconfigPath: string): Promise<ControlPlane> {
  const kubeconfig = await readFile(kubeconfigPath, 'utf8');
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new Error(`TEST_KUBECONFIG (${kubeconfigPath}) names no current cluster`);
  const { kubectl } = await ensureBinaries(['kubectl'], {});
  const refuse = (verb: string) => () => {
    throw new NotOurCluster(verb);
  };
  return {
    server,
    kubeconfig,
    kubeconfigPath,
    kubectlPath: kubectl,
    dataDir: undefined,
    hasControllerManager: true,
    external: true,
    killApiServer: async () => refuse('kill')(),
    startApiServer: async () => refuse('start')(),
    restartApiServer: async () => refuse('restart')(),
    pauseApiServer: refuse('pause'),
    resumeApiServer: refuse('resume'),
    stats: async () => [],
    stop: async () => {},
  };
}
