import { expect, test } from 'vitest';
import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { startTestApi } from '../harness.ts';

const { admin } = await startTestApi();

test('every family has three event types, all of which a subscription may ask for', async () => {
  const { event_types: types } = JSON.parse((await admin.get('/event_types')).text);
  const names: string[] = types.map(({ type }: { type: string }) => type);
  expect(names).toHaveLength(FAMILIES.length * 3);
  expect(names).toEqual(
    expect.arrayContaining(['ip_policy_created.v0', 'ip_policy_updated.v0', 'event_subscription_deleted.v0']),
  );
  expect(types).toContainEqual({ type: 'ip_policy_created.v0', description: 'An IP policy was created.' });
  const made = await admin.post('/event_subscriptions', { sources: names.map((type) => ({ type })) });
  expect(made.as(eventSubscription.view).sources).toHaveLength(names.length);
});
