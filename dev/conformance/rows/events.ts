import { FAMILIES } from '../../../src/resources/families.ts';
import { created, del, get, noContent, ok, patch, post, type Row, refused, type Section } from '../row.ts';

/** Three types for each. */
const SUBJECTS = FAMILIES.map(({ name }) => name);
const TYPES = SUBJECTS.flatMap((subject) => ['created', 'updated', 'deleted'].map((kind) => `${subject}_${kind}.v0`));

const path = '/event_subscriptions';

const types = (...names: string[]) => names.map((type) => ({ type }));

const rows: Row[] = [
  {
    rule: 'Sources created with the subscription and sources added later do not differ',
    given: {
      made: post(path, { sources: types('ip_policy_created.v0') }),
      added: post(`${path}/{made.id}/sources`, { type: 'ip_policy_updated.v0' }),
    },
    ask: get(`${path}/{made.id}`),
    answer: ok({ sources: types('ip_policy_created.v0', 'ip_policy_updated.v0') }),
    later: [
      [del(`${path}/{made.id}/sources/ip_policy_created.v0`), noContent],
      [patch(`${path}/{made.id}`, { sources: types('user_created.v0') }), ok({ sources: types('user_created.v0') })],
      [get(`${path}/{made.id}/sources/user_created.v0`), ok({ type: 'user_created.v0' })],
      [get(`${path}/{made.id}/sources/ip_policy_updated.v0`), refused('NOT_FOUND')],
    ],
  },
  {
    rule: 'A subscription may have every event type as a source',
    ask: post(path, { sources: types(...TYPES) }),
    answer: created({ sources: types(...TYPES) }),
  },
];

export const events: Section = { title: 'Events', rows };

export const eventTypes: Section = {
  title: 'Extension: event types',
  rows: [
    {
      rule: 'The catalogue has three types for every family, each with its version and a description; it is not paged',
      ask: get('/event_types'),
      answer: ok({
        event_types: TYPES.map((type) => ({ type, description: /^An? .+ was (created|updated|deleted)\.$/ })),
        uri: '{base}/event_types',
        next_page_uri: null,
      }),
    },
  ],
};
