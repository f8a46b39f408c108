import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import {
  created,
  del,
  get,
  invalid,
  noContent,
  ok,
  patch,
  post,
  type Row,
  refTo,
  refused,
  type Section,
} from '../row.ts';

const path = '/event_subscriptions';
const destinations = '/event_destinations';

const destination = post(destinations, { target: { webhook: { url: 'https://hooks.example.com/tunnels' } } });
const two = { first: destination, second: destination };
const types = (...names: string[]) => names.map((type) => ({ type }));
const CREATED = 'ip_policy_created.v0';
const UPDATED = 'ip_policy_updated.v0';
const subscription = post(path, { sources: types(CREATED, UPDATED), destination_ids: ['{first.id}'] });
const address = `${path}/{made.id}`;
const source = (type: string) => ({ type, uri: `{base}${address}/sources/${type}` });
const nowhere = 'ed_01k9zq3v5hf8svx2r4c6y7n0wd';

const sources: Row[] = [
  {
    rule: 'The sources of an event subscription have a type and an address each',
    given: { ...two, made: subscription },
    ask: get(address),
    answer: ok({ sources: [source(CREATED), source(UPDATED)] }),
  },
  {
    rule: 'An event subscription may be without sources and destinations: both are empty',
    ask: post(path, {}),
    answer: created({ sources: [], destinations: [] }),
    later: [[post(path, { sources: null, destination_ids: null }), created({ sources: [], destinations: [] })]],
  },
  {
    rule: 'Sources in an update of an event subscription replace the existing ones',
    given: { ...two, made: subscription },
    ask: patch(address, { sources: types('credential_deleted.v0', UPDATED) }),
    answer: ok({ sources: [source('credential_deleted.v0'), source(UPDATED)] }),
    later: [
      [get(`${address}/sources`), ok({ sources: [source('credential_deleted.v0'), source(UPDATED)] })],
      [get(`${address}/sources/${CREATED}`), refused('NOT_FOUND')],
    ],
  },
  {
    rule: 'An update of an event subscription that says nothing of sources and destinations leaves them',
    given: { ...two, made: subscription },
    ask: patch(address, { description: 'changed' }),
    answer: ok({ sources: [source(CREATED), source(UPDATED)], destinations: [refTo(destinations, 'first')] }),
  },
  {
    rule: 'Null and an empty list take all sources away',
    given: { ...two, made: subscription },
    ask: patch(address, { sources: null }),
    answer: ok({ sources: [], destinations: [refTo(destinations, 'first')] }),
    later: [
      [patch(address, { sources: types(CREATED) }), ok({ sources: [source(CREATED)] })],
      [patch(address, { sources: [] }), ok({ sources: [] })],
    ],
  },
  {
    rule: 'The types of an event subscription must exist; the error suggests similar ones',
    ask: post(path, { sources: types(CREATED, 'ip_policy_create.v0') }),
    answer: invalid({ '/sources/1/type': /not an event type; the most similar ones are ip_policy_created\.v0/ }),
  },
  {
    rule: 'The types in an update of an event subscription must exist, too',
    given: { ...two, made: subscription },
    ask: patch(address, { sources: types('nonsense') }),
    answer: invalid({ '/sources/0/type': /not an event type; the most similar ones are \w+\.v0, \w+\.v0, \w+\.v0/ }),
    later: [[get(address), ok({ sources: [source(CREATED), source(UPDATED)] })]],
  },
  {
    rule: 'A type with another version does not exist',
    ask: post(path, { sources: types('ip_policy_created.v1', 'ip_policy_created') }),
    answer: invalid({ '/sources/0/type': /ip_policy_created\.v0/, '/sources/1/type': /ip_policy_created\.v0/ }),
  },
  {
    rule: 'An event subscription must not repeat a type',
    ask: post(path, { sources: types(CREATED, UPDATED, CREATED) }),
    answer: invalid({ '/sources/2/type': /already/ }),
  },
  {
    rule: 'A source in the body of an event subscription is an object with a type',
    ask: post(path, { sources: [CREATED] }),
    answer: invalid({ '/sources/0': /object/ }),
    later: [
      [post(path, { sources: [{}] }), invalid({ '/sources/0/type': /./ })],
      [post(path, { sources: CREATED }), invalid({ '/sources': /array/ })],
      [
        post(path, { sources: [{ type: CREATED, uri: 'mine' }] }),
        invalid({ '/sources/0/uri': 'is set by the service' }),
      ],
    ],
  },
];

const destined: Row[] = [
  {
    rule: 'Destinations are given by id and shown as references',
    given: two,
    ask: post(path, { destination_ids: ['{second.id}', '{first.id}'] }),
    answer: created({ destinations: [refTo(destinations, 'second'), refTo(destinations, 'first')] }),
  },
  {
    rule: 'Destinations in an update of an event subscription replace the existing ones',
    given: { ...two, made: subscription },
    ask: patch(address, { destination_ids: ['{second.id}'] }),
    answer: ok({ destinations: [refTo(destinations, 'second')], sources: [source(CREATED), source(UPDATED)] }),
    later: [
      [patch(address, { destination_ids: null }), ok({ destinations: [] })],
      [patch(address, { destination_ids: ['{first.id}'] }), ok({ destinations: [refTo(destinations, 'first')] })],
      [patch(address, { destination_ids: [] }), ok({ destinations: [] })],
    ],
  },
  {
    rule: 'The destinations of an event subscription must exist',
    given: two,
    ask: post(path, { destination_ids: ['{first.id}', nowhere] }),
    answer: invalid({ '/destination_ids/1': /does not exist/ }),
  },
  {
    rule: 'The destinations of an event subscription must be event destinations',
    given: { policy: post('/ip_policies', {}) },
    ask: post(path, { destination_ids: ['{policy.id}'] }),
    answer: invalid({ '/destination_ids/0': /ed_/ }),
  },
  {
    rule: 'An event subscription must not repeat a destination',
    given: two,
    ask: post(path, { destination_ids: ['{first.id}', '{second.id}', '{first.id}'] }),
    answer: invalid({ '/destination_ids/2': /already/ }),
  },
  {
    rule: 'An event subscription has at most 20 destinations',
    given: many(20),
    ask: post(path, { destination_ids: ids(20) }),
    answer: created({ destinations: ids(20).map((id) => ({ id })) }),
    later: [[post(path, { destination_ids: [...ids(20), nowhere] }), invalid({ '/destination_ids': /at most 20/ })]],
  },
  {
    rule: 'A destination cannot be deleted while a subscription uses it; the error names the subscription',
    given: { ...two, made: subscription },
    ask: del(`${destinations}/{first.id}`),
    answer: refused('RESOURCE_IN_USE', { event_subscription: '{made.id}' }),
    later: [
      [del(address), noContent],
      [del(`${destinations}/{first.id}`), noContent],
    ],
  },
  {
    rule: 'If many subscriptions use a destination, the error on deleting it names five',
    given: {
      ...two,
      ...Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, subscription])),
    },
    ask: del(`${destinations}/{first.id}`),
    answer: refused('RESOURCE_IN_USE', {
      event_subscription: '{a.id}, {b.id}, {c.id}, {d.id}, {e.id}, …',
    }),
  },
];

function many(count: number) {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`d${index}`, destination]));
}

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `{d${index}.id}`);
}

export const eventSubscriptions: Section = {
  title: 'Event subscriptions',
  family: eventSubscription,
  rows: [
    {
      rule: 'The limits of an event subscription count characters, not bytes',
      ask: post(path, { description: '\u{1f980}'.repeat(255), metadata: '\u{1f980}'.repeat(4096) }),
      answer: created({ description: '\u{1f980}'.repeat(255), metadata: '\u{1f980}'.repeat(4096) }),
      later: [[post(path, { description: '\u{1f980}'.repeat(256) }), invalid({ '/description': /255 characters/ })]],
    },
    ...sources,
    ...destined,
  ],
};
