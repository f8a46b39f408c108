/** The operators of a stack: their settings, and a start that fails if a permission is missing. Only for test files. */
import type { OperatorConfig } from '../../src/operator/settings.ts';

/** The settings of an operator unless its test changes them. */
export function operatorSettings(
  its: Pick<OperatorConfig, 'apiUrl' | 'apiKey' | 'kubeconfig' | 'identity'> & { namespace: string },
): OperatorConfig {
  const { namespace, ...own } = its;
  return {
    ...own,
    acceptNewOwner: undefined,
    clusterId: undefined,
    takeOverFrom: undefined,
    namespaces: [namespace],
    namespaceSelector: undefined,
    shardSelector: undefined,
    adoptNamespaces: undefined,
    requireConnection: false,
    connectionUrls: undefined,
    // The rows of all kinds include an API key without an owner.
    allowUserApiKeys: true,
    concurrency: 8,
    apiConcurrency: 16,
    apiTimeoutMs: 10_000,
    kubeTimeoutMs: 10_000,
    // Long enough that no resync disturbs a test. Tests of drift set a shorter one.
    resyncMs: 3_600_000,
    silenceMs: 180_000,
    leaderElect: false,
    leaseNamespace: namespace,
    leaseMs: 15_000,
    host: '127.0.0.1',
    port: 0,
    shutdownMs: 10_000,
  };
}

/** The API server applies a permission within this time after it was granted. */
const GRANTED_MS = 10_000;

/** Waits for the start, which never completes if a permission is missing. @throws Error naming the permission */
export async function unlessForbidden(start: Promise<void>, logs: readonly string[]): Promise<void> {
  const forbidden = Promise.withResolvers<never>();
  // Earlier lines may be from an operator that has lost its permissions since.
  const before = logs.length;
  let refusedAt: number | undefined;
  const look = () => {
    const line = logs.slice(before).find((each) => each.includes('not allowed to '));
    if (line === undefined) return;
    refusedAt ??= performance.now();
    if (performance.now() - refusedAt > GRANTED_MS) forbidden.reject(new Error(`the operator lacks a right: ${line}`));
  };
  const looking = setInterval(look, 100);
  try {
    await Promise.race([start, forbidden.promise]);
  } finally {
    clearInterval(looking);
  }
}
