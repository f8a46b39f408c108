/** What an EventSubscription compares. */
import { expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { eventSubscriptionKind } from '../../../src/operator/kinds/event-subscription.ts';

const external = eventSubscriptionKind.external(createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k' }));
const sources = (...names: string[]) => names.map((name) => ({ type: `ip_policy_${name}.v0` }));
const base = { deletionPolicy: 'Delete', managementPolicy: 'Manage' };

test.each([
  [['created', 'updated'], ['created', 'updated'], []],
  [['created', 'updated'], ['updated', 'created'], []],
  [['updated', 'created'], ['created', 'updated'], []],
  [['created', 'updated'], ['created'], ['sources']],
  [['created', 'updated'], ['created', 'deleted'], ['sources']],
  [[], [], []],
])('sources %j where the API has %j: changes in %j', (desired, observed, changes) => {
  const spec = { ...base, sources: sources(...desired), destinationRefs: [] };
  const remote = {
    id: 'esb_01jd0000000000000000000000',
    uri: 'https://api.example.com/event_subscriptions/esb_1',
    created_at: '2026-11-22T10:00:00.000Z',
    description: null,
    metadata: null,
    sources: sources(...observed).map((source) => ({ ...source, uri: 'https://api.example.com/event_sources/1' })),
    destinations: [],
  };
  expect(external.changes(spec as never, remote)).toEqual(changes);
});
