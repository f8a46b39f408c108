/** Leader election with an API server that answers as each test says. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { LEASES, type LeaderElectionOptions } from '../../../src/operator/kube/leader-election.ts';
import { object } from '../objects.ts';
import { type Answer, answering, json, refusal } from './answering.ts';
import { candidateFor, HOUR, soon } from './candidate.ts';

const ours = object({ name: 'lease', spec: { holderIdentity: 'us', leaseDurationSeconds: 15 } });
const theirs = object({ name: 'lease', spec: { holderIdentity: 'them', leaseDurationSeconds: 3_600 } });
const setUp = async (answers: Answer[], options: Partial<LeaderElectionOptions> = {}) => {
  const server = await answering(...answers);
  return { ...candidateFor({ namespace: 'ns', name: 'lease' }, server.connect(), options), server };
};
const warning = 'leader election: could not read or write the Lease';

describe('an API server in trouble', () => {
  describe('by a clock that the test moves', () => {
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

    test('ends the lead when the last renewal began too long ago', async () => {
      const renewal = [taking(6_000, json(ours))];
      const failures = [taking(3_000, refusal(500)), taking(1_000, refusal(500)), json(ours)];
      const answers = [json(ours), json(ours), ...renewal, ...renewal, ...failures];
      const { election, acquire, losses, server, log } = await setUp(answers);
      expect(await acquire()).toBe(true);
      await waitFor('the loss', () => losses.length > 0, soon);
      expect([election.leading, losses, server.asked.length]).toEqual([false, ['lost'], answers.length - 1]);
      expect(log().slice(0, 2)).toEqual(['became the leader', warning]);
    });

    test('ends the lead when the request that began it was sent too long ago', async () => {
      const answers = [json(ours), taking(6_000, json(ours)), taking(4_000, refusal(500)), json(ours)];
      const { acquire, losses, server, log } = await setUp(answers);
      await acquire();
      await waitFor('the loss', () => losses.length > 0, soon);
      expect([server.asked.length, log().at(-1)]).toEqual([3, 'lost leadership: could not renew the Lease in time']);
    });

    test('ends the lead when others have written, and nobody can tell whether it still holds', async () => {
      const failures = [taking(9_000, refusal(500)), refusal(409), taking(1_000, refusal(500))];
      const { acquire, losses, server } = await setUp([json(ours), json(ours), ...failures]);
      await acquire();
      await waitFor('the loss', () => losses.length > 0, soon);
      expect(server.asked.map(({ line }) => line.split(' ')[0])).toEqual(['GET', 'PUT', 'PUT', 'PUT', 'GET']);
    });

    test('that does not answer ends the lead in time, too', async () => {
      const answers = [json(ours), json(ours), taking(9_900, refusal(500)), () => {}];
      const { acquire, losses, server } = await setUp(answers);
      await acquire();
      // Each attempt ends a hundred milliseconds later.
      await waitFor('another attempt', () => server.asked.length > answers.length, soon);
      expect(losses).toEqual([]);
      vi.advanceTimersByTime(100);
      await waitFor('the loss', () => losses.length > 0, soon);
      expect(losses).toEqual(['lost']);
    });
  });

  test('is told in the log, unlike a race that others won', async () => {
    const { acquire, log } = await setUp([
      refusal(404),
      refusal(409),
      json(ours),
      refusal(409),
      refusal(403),
      json(ours),
      json(ours),
    ]);
    expect(await acquire()).toBe(true);
    expect(log()).toEqual([warning, 'became the leader']);
  });

  test('is not asked again before its time, and no wait outlasts the end', async () => {
    for (const answers of [[json(theirs)], [json(ours), json(ours)]]) {
      const { acquire, election, server } = await setUp(answers, { retryMs: HOUR, renewDeadlineMs: 2 * HOUR });
      const acquired = acquire();
      await waitFor('the first attempt', () => server.asked.length === answers.length, soon);
      if (answers.length === 2) await acquired;
      await server.connect().get(LEASES, 'lease');
      await turn();
      expect(server.asked.length).toBe(answers.length + 1);
      await election.release();
      expect(await acquired).toBe(answers.length === 2);
      const asked = server.asked.slice(answers.length + 1).map(({ line }) => line.split(' ')[0]);
      expect(asked).toEqual(answers.length === 2 ? ['GET', 'PUT'] : []);
    }
  });

  test('says what somebody has to do, until it is done', async () => {
    const { acquire, election } = await setUp([refusal(403), json(ours)]);
    expect(election.problem).toBeUndefined();
    const acquired = acquire();
    await waitFor('the problem', () => election.problem !== undefined, soon);
    expect(election.problem).toMatch(/^not allowed to keep the Lease in namespace /);
    await acquired;
    expect(election.problem).toBeUndefined();
  });

  test('is told in the log with all that is known of it, and then in short, until it is over', async () => {
    const failures = [refusal(500), refusal(500), json(ours), json(ours), refusal(500), json(ours)];
    const { acquire, lines, server } = await setUp(failures);
    await acquire();
    await waitFor('the next failure', () => server.asked.length >= failures.length, soon);
    const told = lines.filter(({ msg }) => msg === warning).map(({ err }) => err !== undefined);
    expect(told).toEqual([true, false, true]);
  });

  test('is not asked to write over what others have written', async () => {
    const answers = [json(ours), json(ours), refusal(409), json(theirs)];
    const { acquire, losses, server } = await setUp(answers);
    await acquire();
    await waitFor('the loss', () => losses.length > 0, soon);
    expect(server.asked.map(({ line }) => line.split(' ')[0])).toEqual(['GET', 'PUT', 'PUT', 'GET']);
  });

  test('that is slow to renew the Lease is given the time before it is asked to release it', async () => {
    const gate = Promise.withResolvers<void>();
    const late: Answer = (response, asked) => void gate.promise.then(() => json(ours)(response, asked));
    const { acquire, election, server } = await setUp([json(ours), json(ours), late, json(ours)]);
    await acquire();
    await waitFor('the renewal', () => server.asked.length === 3, soon);
    const released = election.release();
    for (let call = 0; call < 3; call++) await server.connect().get(LEASES, 'elsewhere');
    gate.resolve();
    await released;
    const asked = server.asked.filter(({ line }) => !line.endsWith('/elsewhere')).map(({ line }) => line.split(' ')[0]);
    expect(asked).toEqual(['GET', 'PUT', 'PUT', 'GET', 'PUT']);
    expect(server.asked[3]?.line).toMatch(/elsewhere$/);
  });

  test('that is slow to give out the Lease is given a moment before it is asked to release it', async () => {
    const gate = Promise.withResolvers<void>();
    const late: Answer = (response, asked) => void gate.promise.then(() => json(ours)(response, asked));
    const { acquire, election, server } = await setUp([refusal(404), late, json(ours)]);
    const acquired = acquire();
    await waitFor('the request', () => server.asked.length === 2, soon);
    const released = [election.release(), election.release()];
    for (let call = 0; call < 3; call++) await server.connect().get(LEASES, 'elsewhere');
    gate.resolve();
    await released[1];
    const asked = server.asked.filter(({ line }) => !line.endsWith('/elsewhere')).map(({ line }) => line.split(' ')[0]);
    expect(asked).toEqual(['GET', 'POST', 'GET', 'PUT']);
    expect([await acquired, election.leading]).toEqual([true, false]);
  });

  test('that never gives it out does not hold up the end', async () => {
    const { acquire, election, server } = await setUp([refusal(404), () => {}]);
    void acquire();
    await waitFor('the request', () => server.asked.length === 2, soon);
    await election.release();
    expect([election.leading, server.asked.length]).toEqual([false, 2]);
  });

  test('that refuses to release the Lease is told in the log', async () => {
    const { acquire, election, server, log } = await setUp([json(ours), json(ours), json(ours), refusal(500)], {
      retryMs: HOUR,
    });
    await acquire();
    await election.release();
    expect([election.leading, log()]).toEqual([false, ['became the leader', 'could not release the Lease']]);
    const { apiVersion, kind, metadata } = ours;
    const annotations = { ours: 'a' };
    expect(JSON.parse(server.asked[1]?.body ?? '')).toMatchObject({
      apiVersion,
      kind,
      metadata: { ...metadata, annotations },
    });
  });
});
