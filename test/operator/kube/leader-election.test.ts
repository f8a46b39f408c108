/** Leader election on the Lease of a real API server. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import { LEASES, type LeaderElectionOptions, leaseTimes } from '../../../src/operator/kube/leader-election.ts';
import { createNamespace, kubeconfig } from '../../harness.ts';
import { candidateFor, HOUR, soon } from './candidate.ts';

const namespace = await createNamespace('lease');
const config = await kubeconfig();

function connect(): KubeApi {
  const api = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000 });
  onTestFinished(() => api.close());
  return api;
}

const candidate = (name: string, options: Partial<LeaderElectionOptions> = {}) =>
  candidateFor({ namespace, name }, connect(), options);

async function lease(name: string) {
  const { metadata, spec } = await connect().get(LEASES, name, namespace);
  return {
    spec: spec as Record<string, unknown>,
    annotations: metadata.annotations,
    version: metadata.resourceVersion,
  };
}

function make(name: string, spec: object) {
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, annotations: { other: 'b' } },
    spec,
  };
  return connect().create(LEASES, body, namespace);
}

test('a holder gives up well before others may take over, and tries some times before it does', () => {
  expect(leaseTimes(15_000)).toEqual({ leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 });
});

describe('a candidate', () => {
  test('makes the Lease, renews it, and hands it over to the next', async () => {
    const first = candidate('handed-over');
    expect(first.election.leading).toBe(false);
    expect(await first.acquire()).toBe(true);
    expect(first.election.leading).toBe(true);
    const taken = await lease('handed-over');
    expect(taken).toMatchObject({
      spec: { holderIdentity: 'us', leaseDurationSeconds: 15, leaseTransitions: 0 },
      annotations: { ours: 'a' },
    });
    await waitFor('a renewal', async () => (await lease('handed-over')).version !== taken.version, soon);
    expect((await lease('handed-over')).spec.acquireTime).toBe(taken.spec.acquireTime);

    const next = candidate('handed-over', { identity: 'next', annotations: () => ({ theirs: 'c' }) });
    const acquired = next.acquire();
    await first.election.release();
    expect(await acquired).toBe(true);
    expect([first.election.leading, first.losses, first.log()]).toEqual([false, [], ['became the leader']]);
    expect(await lease('handed-over')).toMatchObject({
      spec: { holderIdentity: 'next', leaseTransitions: 1 },
      annotations: { ours: 'a', theirs: 'c' },
    });
    await next.election.release();
    expect((await lease('handed-over')).spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  });

  test('that is told to stop while it waits does not lead, and leaves the Lease alone', async () => {
    const { metadata } = await make('held', { holderIdentity: 'them', leaseDurationSeconds: 3_600 });
    const { election, acquire } = candidate('held');
    const acquired = acquire();
    await election.release();
    expect(await acquired).toBe(false);
    expect(await acquire()).toBe(false);
    expect((await lease('held')).version).toBe(metadata.resourceVersion);
  });
});

describe('a leader', () => {
  test('that is no longer the holder says so at once, and leaves the Lease to the other', async () => {
    const { election, acquire, losses, log } = candidate('robbed', { renewDeadlineMs: HOUR });
    await acquire();
    const other = { holderIdentity: 'them', leaseDurationSeconds: 3_600 };
    await connect().patch(LEASES, 'robbed', { spec: other }, namespace);
    await waitFor('the loss', () => losses.length > 0, soon);
    expect(election.leading).toBe(false);
    await election.release();
    expect([losses, log().at(-1)]).toEqual([['lost'], 'lost leadership: another process holds the Lease']);
    expect((await lease('robbed')).spec).toMatchObject(other);
  });

  test('leaves the Lease alone that somebody else took meanwhile, and one that is gone', async () => {
    for (const change of [{ holderIdentity: 'them' }, undefined]) {
      const { election, acquire, log } = candidate('taken', { retryMs: HOUR });
      await acquire();
      if (change) await connect().patch(LEASES, 'taken', { spec: change }, namespace);
      else await connect().delete(LEASES, 'taken', namespace);
      await election.release();
      const left = await connect().find(LEASES, 'taken', namespace);
      expect(left?.spec).toEqual(change && expect.objectContaining(change));
      expect(log()).toEqual(['became the leader']);
      if (change) await connect().delete(LEASES, 'taken', namespace);
    }
  });
});

// The slowest comes last.
test('a candidate takes over when the holder does not renew any more, and not before', async () => {
  await make('abandoned', { holderIdentity: 'them', leaseDurationSeconds: 4 });
  const { election, acquire } = candidate('abandoned');
  const acquired = acquire();
  for (let renewal = 0; renewal < 12; renewal++) {
    await connect().patch(LEASES, 'abandoned', { metadata: { labels: { renewal: `${renewal}` } } }, namespace);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(election.leading).toBe(false);
  }
  expect(await acquired).toBe(true);
  expect((await lease('abandoned')).annotations).toEqual({ ours: 'a', other: 'b' });
});
