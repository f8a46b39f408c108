/** The cluster to connect to, and the identity to use there. */
import { KubeConfig } from '@kubernetes/client-node';

/** @param file default: `KUBECONFIG`, the user's own file, or the service account of the Pod */
export function loadKubeConfig(file: string | undefined): KubeConfig {
  const config = new KubeConfig();
  // The variable may hold several paths, which only loadFromDefault merges.
  if (file === undefined || file === process.env.KUBECONFIG) config.loadFromDefault();
  else config.loadFromFile(file);
  return config;
}
