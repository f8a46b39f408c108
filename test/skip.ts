/** Tests that cannot run everywhere give the reason for a skip; `npm test` counts the reasons at its end. */
import type { TestOptions } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    skipReason?: string;
  }
}

/** Options of a test or suite: skips it if there is a reason to. */
export function skipFor(reason: string | undefined): TestOptions {
  return reason === undefined ? {} : { skip: true, meta: { skipReason: reason } };
}

/** For tests that kill or pause a control plane. */
export const NOT_OUR_CLUSTER = process.env.TEST_KUBECONFIG
  ? 'the cluster of TEST_KUBECONFIG is not ours to take down'
  : undefined;

/** For tests that need garbage collection or service accounts. */
export function lacksControllerManager(cluster: { hasControllerManager: boolean }): string | undefined {
  return cluster.hasControllerManager ? undefined : 'the control plane has no kube-controller-manager';
}
