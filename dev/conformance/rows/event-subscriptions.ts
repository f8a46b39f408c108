import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import { created, get, invalid, ok, patch, post, type Row, refTo, refused, type Section } from '../row.ts';

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

const sources: Row[] = [
  {
    rule: 'An event subscription may have no sources or destinations: both lists are then empty',
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
    rule: 'Null and an empty list remove all sources',
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

export const eventSubscriptions: Section = {
  title: 'Event subscriptions',
  family: eventSubscription,
  rows: sources,
};
