/** Deliveries as the service would have made them, since no events are sent here. */
import { z } from 'zod';
import { FIRST_ACCOUNT } from '../../src/resources/account.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { eventDestination } from '../../src/resources/event-destination.ts';
import type { TestApi } from '../api/harness.ts';

const target = { webhook: { url: 'https://hooks.tunnels.test/events' } };

/** Their ids by state, those of a destination of its own for a replay, and what they are about. */
export async function makeDeliveries({ admin, rows }: Pick<TestApi, 'admin' | 'rows'>) {
  const subscription_id = newId('esb');
  const sent = { first_attempt_at: new Date().toISOString(), last_attempt_at: new Date().toISOString(), attempts: 1 };
  const failure = { ...sent, status_code: 503, error: 'The receiver answered 503.' };
  const makeDestination = async () => {
    const { id } = (await admin.post('/event_destinations', { target })).as(eventDestination.view);
    const [event] = await rows('select id from events where resource_id = $1', [id]);
    return { id, event_id: z.string().parse(event?.id) };
  };
  async function make({ id, event_id }: { id: string; event_id: string }, state: string, more: object = {}) {
    const delivery = {
      id: newId('evd'),
      created_at: new Date().toISOString(),
      destination_id: id,
      subscription_ids: [subscription_id],
      event_id,
      seq: 1,
      type: 'event_destination_created.v0',
      resource_id: id,
      account_id: FIRST_ACCOUNT,
      state,
      attempts: 0,
      ...more,
    };
    const text = 'insert into event_deliveries select * from jsonb_populate_record(null::event_deliveries, $1::jsonb)';
    await rows(text, [JSON.stringify(delivery)]);
    return delivery.id;
  }
  const [one, other] = [await makeDestination(), await makeDestination()];
  return {
    destination_id: one.id,
    event_id: one.event_id,
    subscription_id,
    dropped: await make(one, 'dropped', { error: 'No subscription sends the event to this destination any more.' }),
    given_up: await make(one, 'failed', { ...failure, attempts: 13 }),
    failed: await make(one, 'failed', failure),
    pending: await make(one, 'pending', { ...failure, next_attempt_at: new Date().toISOString() }),
    delivered: await make(one, 'delivered', { ...sent, attempts: 2, status_code: 200, answer: 'thanks' }),
    replayed_destination_id: other.id,
    also_replayed: await make(other, 'delivered', { ...sent, status_code: 204 }),
    replayed: await make(other, 'failed', failure),
  };
}
