import { expect, test } from 'vitest';
import { attempt } from '../../../../src/api/events/delivery/attempt.ts';
import { FAILING, healthOf } from '../../../../src/api/events/delivery/health.ts';
import type { Head } from '../../../../src/api/events/queue/streams.ts';
import type { Answer } from '../../../../src/api/events/wire/sender.ts';
import { eventDestination } from '../../../../src/resources/event-destination.ts';
import { startTestApi } from '../../harness.ts';
import { EVENT, never, webhook } from '../wire/receiver.ts';

const api = await startTestApi();
const HOUR = 3_600_000;
/** How long after the first failure it may be recorded. */
const LATE = 50_000;
const REFUSED: Answer = { delivered: false, error: 'it said no' };

/** A destination with the attempts to deliver events to it. Its times are moved as time passes. */
async function watched(random: () => number) {
  const target = { webhook: { url: 'https://hooks.tunnels.test' } };
  const { id } = (await api.admin.post('/event_destinations', { target })).as(eventDestination.view);
  const pauses: string[] = [];
  const health = healthOf(api.db, id, { pause: async (_, reason) => void pauses.push(reason) });
  return {
    pauses,
    async attempted(answer: Answer, { attempts = 0, sinceFirst = 0 } = {}) {
      const event = { ...EVENT, occurred_at: EVENT.time, actor: 'usr_1', resource_id: 'ipp_1', payload: {} };
      const place = { resourceId: 'ipp_1', id: 'evd_1', seq: 1, requeued: false, wanted: true };
      const head: Head = { ...place, attempts, sinceFirstAttemptMs: attempts === 0 ? null : sinceFirst, event };
      const courier = { deliver: async () => answer, close: async () => {} };
      const result = await attempt(head, { courier, destination: webhook(443), signal: never, random });
      await health.note([result]);
      return result;
    },
    passes: (ms: number) =>
      api.rows(
        `update event_destinations set failing_since = failing_since - $2 * interval '1 millisecond',
           last_success_at = last_success_at - $2 * interval '1 millisecond' where id = $1`,
        [id, ms],
      ),
  };
}

test.each([
  ['as early as can be', () => 0, REFUSED, false],
  ['at their time', () => 0.5, REFUSED, false],
  ['as late as can be', () => 1, REFUSED, false],
  ['when the receiver wants it', () => 0.5, { ...REFUSED, retryAfterMs: HOUR }, false],
  ['when the receiver wants it, the first a moment after a success', () => 0, { ...REFUSED, retryAfterMs: HOUR }, true],
])(
  'the last attempt for a single event pauses its destination, with all attempts made %s',
  async (_, random, answer, isAfterSuccess) => {
    const { pauses, attempted, passes } = await watched(random);
    // Two of them, since the second is not recorded at once.
    if (isAfterSuccess) for (const each of [1, 2]) await attempted({ delivered: true, status: 200 + each });
    let sinceFirst = 0;
    for (let attempts = 0; ; attempts++) {
      const { state, retryMs } = await attempted(answer, { attempts, sinceFirst });
      if (retryMs === null) {
        expect(state).toBe('failed');
        break;
      }
      expect(pauses).toEqual([]);
      await passes(attempts === 0 ? retryMs - LATE : retryMs);
      sinceFirst += retryMs;
    }
    expect(sinceFirst).toBeCloseTo(72 * HOUR);
    expect(pauses).toEqual([FAILING]);
  },
);
