/** A process that takes part in a leader election. Only for test files; it releases the Lease when the test ends. */
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import { LeaderElection, type LeaderElectionOptions } from '../../../src/operator/kube/leader-election.ts';

export const HOUR = 3_600_000;

/** How often to look for what comes within milliseconds. */
export const soon = { intervalMs: 5 };

type Lease = Pick<LeaderElectionOptions, 'namespace' | 'name'>;

export function candidateFor(lease: Lease, api: KubeApi, options: Partial<LeaderElectionOptions> = {}) {
  const lines: Record<string, unknown>[] = [];
  const election = new LeaderElection(api, {
    ...lease,
    identity: 'us',
    leaseMs: 15_000,
    renewDeadlineMs: 10_000,
    retryMs: 20,
    annotations: () => ({ ours: 'a' }),
    log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }),
    ...options,
  });
  onTestFinished(() => election.release());
  const losses: string[] = [];
  const acquire = () => election.acquire(() => void losses.push('lost'));
  return { election, acquire, losses, lines, log: () => lines.map(({ msg }) => msg) };
}
