/** The operators of a stack: what they are told, and a start that does not wait for a right in vain. Only for test files. */
import type { OperatorConfig } from '../../src/operator/settings.ts';

/** What an operator is told unless its test says otherwise. */
export function operatorSettings(
  its: Pick<OperatorConfig, 'apiUrl' | 'apiKey' | 'kubeconfig' | 'identity'> & { namespace: string },
): OperatorConfig {
  const { namespace, ...own } = its;
  return {
    ...own,
    acceptNewOwner: undefined,
    namespaces: [namespace],
    shardSelector: undefined,
    adoptNamespaces: undefined,
    // The rows of all kinds include a key without an owner.
    allowUserApiKeys: true,
    concurrency: 8,
    apiConcurrency: 16,
    apiTimeoutMs: 10_000,
    kubeTimeoutMs: 10_000,
    // A test that is about drift sets it shorter; in the others nothing happens behind their back.
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

/** Within this time, the API server knows of a right that was just granted. */
const GRANTED_MS = 10_000;

/** Without a permission, the start would wait for ever. @throws Error naming the permission */
export async function unlessForbidden(start: Promise<void>, logs: readonly string[]): Promise<void> {
  const forbidden = Promise.withResolvers<never>();
  // One that ran before may have lost its rights since.
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
