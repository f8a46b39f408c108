/** Why a Lease cannot be kept until a person acts. */
import { KubeError } from './kube-error.ts';

/** @returns what to do, in a sentence; undefined if trying again may help */
export function leaseProblem(error: unknown, namespace: string): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  if (error.isNotFound) {
    return `there is no namespace ${namespace} for the Lease; create it, or set --leader-election-namespace to another`;
  }
  if (!error.isForbidden) return undefined;
  return `not allowed to keep the Lease in namespace ${namespace}; grant get, create and update on leases.coordination.k8s.io`;
}
