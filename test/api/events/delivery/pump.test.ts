import { afterEach, expect, test } from 'vitest';
import { healthOf } from '../../../../src/api/events/delivery/health.ts';
import { type Pump, startPump } from '../../../../src/api/events/delivery/pump.ts';
import type { Answer, Courier, SentEvent } from '../../../../src/api/events/wire/courier.ts';
import { eventDestination } from '../../../../src/resources/event-destination.ts';
import { eventSubscription } from '../../../../src/resources/event-subscription.ts';
import { ipPolicy } from '../../../../src/resources/ip-policy.ts';
import { startTestApi } from '../../harness.ts';

const api = await startTestApi();
const { admin, db } = api;
const target = { webhook: { url: 'https://hooks.tunnels.test/events' } };

interface Sent {
  to: string;
  event: SentEvent;
}

/** A courier whose receivers answer as `answer` says. */
function courier(answer: (sent: Sent) => Answer | Promise<Answer> = () => ({ delivered: true, status: 200 })) {
  const sent: Sent[] = [];
  const it: Courier = {
    async deliver({ id }, event) {
      sent.push({ to: id, event });
      return answer({ to: id, event });
    },
    close: async () => {},
  };
  return { it, sent };
}

const pumps: Pump[] = [];
function pump(it: Courier, pause = async () => {}): Pump {
  const started = startPump({
    db,
    courier: it,
    open: async (id) => ({ id, format: 'json', target, secrets: [] }),
    pause,
    holder: 'test',
    onError: (error) => expect.unreachable(String(error)),
    pollMs: 20,
    leaseMs: 600,
  });
  pumps.push(started);
  return started;
}
afterEach(async () => {
  for (const each of pumps.splice(0)) await each.stop();
});

const destination = async () => (await admin.post('/event_destinations', { target })).as(eventDestination.view).id;
const subscribe = async (types: string[], destination_ids: string[]) =>
  (await admin.post('/event_subscriptions', { sources: types.map((type) => ({ type })), destination_ids })).as(
    eventSubscription.view,
  ).id;
const newPolicy = async () => (await admin.post('/ip_policies')).as(ipPolicy.view).id;

test('every change of a type goes to each destination once, in the order of the changes of a resource', async () => {
  const [one, two] = [await destination(), await destination()];
  const { it, sent } = courier();
  await newPolicy();
  await subscribe(['ip_policy_created.v0', 'ip_policy_updated.v0'], [one, two]);
  await subscribe(['ip_policy_updated.v0'], [two]);
  pump(it);
  const policies = [await newPolicy(), await newPolicy()];
  for (const id of policies) for (const n of [1, 2, 3]) await admin.patch(`/ip_policies/${id}`, { description: `${n}` });
  await expect.poll(() => sent.length).toBe(16);
  for (const to of [one, two]) {
    for (const id of policies) {
      const here = sent.filter((each) => each.to === to && each.event.subject === id);
      expect(here.map(({ event }) => event.data.description)).toEqual([null, '1', '2', '3']);
      const sequences = here.map(({ event }) => event.sequence);
      expect(sequences).toEqual(sequences.toSorted());
    }
  }
  await expect.poll(async () => (await api.rows('select * from event_streams')).length).toBe(0);
  expect(await api.rows('select * from event_queue')).toEqual([]);
  expect(healthOf).toBeDefined();
});
