/** Leader election on the Lease of a real API server, and its failures on a server that gives the answers of a test. */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import {
  LEASES,
  LeaderElection,
  type LeaderElectionOptions,
  leaseTimes,
} from '../../../src/operator/kube/leader-election.ts';
import { createNamespace, kubeconfig } from '../../harness.ts';
import { object } from '../objects.ts';
import { type Answer, answering, json, refusal } from './answering.ts';

const HOUR = 3_600_000;
/** For conditions that are met within milliseconds. */
const soon = { intervalMs: 5 };
const namespace = await createNamespace('lease');
const config = await kubeconfig();

function connect(): KubeApi {
  const api = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000 });
  onTestFinished(() => api.close());
  return api;
}

function candidate(name: string, options: Partial<LeaderElectionOptions> = {}, api = connect()) {
  const lines: Record<string, unknown>[] = [];
  const election = new LeaderElection(api, {
    namespace,
    name,
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

async function lease(name: string) {
  const { metadata, spec } = await connect().get(LEASES, name, namespace);
  return {
    spec: spec as Record<string, unknown>,
    annotations: metadata.annotations,
    version: metadata.resourceVersion,
  };
}

test('a holder retries several times before it gives up, and gives up well before others may take over', () => {
  expect(leaseTimes(15_000)).toEqual({ leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 });
});

describe('on a real Lease', () => {
  test('a candidate creates the Lease, renews it and hands it over to the next', async () => {
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

  test('a candidate that is stopped while it waits does not lead, and leaves the Lease alone', async () => {
    const spec = { holderIdentity: 'them', leaseDurationSeconds: 3_600 };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'held' }, spec };
    const { metadata } = await connect().create(LEASES, body, namespace);
    const { election, acquire } = candidate('held', { retryMs: HOUR });
    const acquired = acquire();
    await election.release();
    expect([await acquired, await acquire()]).toEqual([false, false]);
    expect((await lease('held')).version).toBe(metadata.resourceVersion);
  });

  test('a release leaves the Lease alone if another process has taken it, or if it was deleted', async () => {
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

const ours = json(object({ name: 'lease', spec: { holderIdentity: 'us', leaseDurationSeconds: 15 } }));
const theirs = (version = 1) =>
  json(object({ name: 'lease', version, spec: { holderIdentity: 'them', leaseDurationSeconds: 3_600 } }));

async function inTrouble(answers: Answer[], options: Partial<LeaderElectionOptions> = {}) {
  const server = await answering(...answers);
  const asked = () =>
    server.asked.filter(({ line }) => !line.endsWith('/elsewhere')).map(({ line }) => line.split(' ')[0]);
  return { ...candidate('lease', { namespace: 'ns', ...options }, server.connect()), server, asked };
}

describe('with a fake clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    vi.advanceTimersByTime(60_000);
  });
  afterEach(() => void vi.useRealTimers());

  const taking =
    (ms: number, answer: Answer): Answer =>
    (response, asked) => {
      vi.advanceTimersByTime(ms);
      return answer(response, asked);
    };
  const slow = taking(6_000, ours);
  const failing = (ms: number) => taking(ms, refusal(500));
  const LATE = 'lost leadership: could not renew the Lease in time';
  const TAKEN = 'lost leadership: another process holds the Lease';

  test.each<[string, Answer[], string[], string]>([
    [
      'the last renewal began too long ago',
      [ours, ours, slow, slow, failing(3_000), failing(1_000), ours],
      ['GET', 'PUT', 'PUT', 'PUT', 'PUT', 'PUT'],
      LATE,
    ],
    [
      'the request that acquired the Lease was sent too long ago',
      [ours, slow, failing(4_000), ours],
      ['GET', 'PUT', 'PUT'],
      LATE,
    ],
    [
      'another process has written the Lease, and it cannot be read',
      [ours, ours, failing(9_000), refusal(409), failing(1_000)],
      ['GET', 'PUT', 'PUT', 'PUT', 'GET'],
      LATE,
    ],
    ['another process holds the Lease', [ours, ours, refusal(409), theirs()], ['GET', 'PUT', 'PUT', 'GET'], TAKEN],
  ])('leadership ends when %s', async (_, answers, expected, reason) => {
    const { election, acquire, losses, asked, log } = await inTrouble(answers);
    expect(await acquire()).toBe(true);
    await waitFor('the loss', () => losses.length > 0, soon);
    await election.release();
    expect([election.leading, losses, asked(), log().at(-1)]).toEqual([false, ['lost'], expected, reason]);
  });

  test('leadership ends in time when the API server does not answer', async () => {
    const answers = [ours, ours, failing(9_900), () => {}];
    const { acquire, losses, server } = await inTrouble(answers);
    await acquire();
    await waitFor('another attempt', () => server.asked.length > answers.length, soon);
    expect(losses).toEqual([]);
    vi.advanceTimersByTime(100);
    await waitFor('the loss', () => losses.length > 0, soon);
  });

  test('a candidate takes over when the Lease has expired, and not before', async () => {
    const almost = taking(HOUR - 1, theirs(2));
    const { acquire, asked } = await inTrouble([theirs(), almost, almost, taking(1, theirs(2)), ours]);
    expect(await acquire()).toBe(true);
    expect(asked()).toEqual(['GET', 'GET', 'GET', 'GET', 'PUT']);
  });
});

describe('with a failing API server', () => {
  const warning = 'leader election: could not read or write the Lease';

  test('a failure is logged, with its stack only once, and a lost race is not', async () => {
    const answers = [refusal(404), refusal(409), ours, refusal(409), refusal(403), refusal(403), ours, ours];
    const { acquire, lines, election } = await inTrouble(answers);
    expect(election.problem).toBeUndefined();
    const acquired = acquire();
    await waitFor('the problem', () => election.problem !== undefined, soon);
    expect(election.problem).toMatch(/^not allowed to keep the Lease in namespace /);
    expect([await acquired, election.problem]).toEqual([true, undefined]);
    expect(lines.map(({ msg, err }) => [msg, err !== undefined])).toEqual([
      [warning, true],
      [warning, false],
      ['became the leader', false],
    ]);
  });

  test.each<[string, Answer[], string[]]>([
    ['renew', [ours, ours], ['GET', 'PUT', 'PUT', 'GET', 'PUT']],
    ['create', [refusal(404)], ['GET', 'POST', 'GET', 'PUT']],
  ])('a release waits for a pending request to %s the Lease', async (_, before, expected) => {
    const gate = Promise.withResolvers<void>();
    const late: Answer = (response, asked) => void gate.promise.then(() => ours(response, asked));
    const { acquire, election, server, asked } = await inTrouble([...before, late, ours]);
    const acquired = acquire();
    await waitFor('the request', () => server.asked.length === before.length + 1, soon);
    const released = [election.release(), election.release()];
    for (let call = 0; call < 3; call++) await server.connect().get(LEASES, 'elsewhere');
    gate.resolve();
    await Promise.all(released);
    expect([asked(), await acquired, election.leading]).toEqual([expected, true, false]);
    expect(server.asked[before.length + 1]?.line).toMatch(/elsewhere$/);
  });

  test('a release that is refused is logged', async () => {
    const { acquire, election, log } = await inTrouble([ours, ours, ours, refusal(500)], { retryMs: HOUR });
    await acquire();
    await election.release();
    expect([election.leading, log()]).toEqual([false, ['became the leader', 'could not release the Lease']]);
  });
});
