import { created, del, get, invalid, noContent, ok, patch, post, type Row, refused, type Section } from '../row.ts';

const CREATED = 'ip_policy_created.v0';
const UPDATED = 'ip_policy_updated.v0';

const subscription = '/event_subscriptions/{made.id}';
const path = `${subscription}/sources`;
const given = { made: post('/event_subscriptions', { sources: [{ type: CREATED }] }) };
const nowhere = '/event_subscriptions/esb_01k9zq3v5hf8svx2r4c6y7n0wd/sources';
const source = (type: string) => ({ type, uri: `{base}${path}/${type}` });
const add = (type: string) => post(path, { type });
const etag = (revision: number) => ({ headers: { etag: `"${revision}"` } });

const operations: Row[] = [
  {
    rule: 'Adding a source to a subscription answers 201 with its type and its address',
    given,
    ask: add(UPDATED),
    answer: { ...created(source(UPDATED)), headers: { location: `{base}${path}/${UPDATED}` } },
    later: [[get(subscription), ok({ sources: [source(CREATED), source(UPDATED)] })]],
  },
  {
    rule: 'The list of sources has their array and its own address, and no next page',
    given,
    ask: get(path),
    answer: ok({ sources: [source(CREATED)], uri: `{base}${path}`, next_page_uri: undefined }),
  },
  {
    rule: 'Getting a source returns 200 with its type and its address; its type is its name',
    given,
    ask: get(`${path}/${CREATED}`),
    answer: ok({ ...source(CREATED), id: undefined, created_at: undefined }),
  },
  {
    rule: 'Updating a source takes an empty object, and changes nothing',
    given,
    ask: patch(`${path}/${CREATED}`, {}),
    answer: { ...ok(source(CREATED)), ...etag(1) },
    later: [[get(path), ok({ sources: [source(CREATED)] })]],
  },
  {
    rule: 'An update may repeat the type of a source, but cannot change anything',
    given,
    ask: patch(`${path}/${CREATED}`, { type: UPDATED }),
    answer: invalid({ '/type': /in the path/ }),
    later: [
      [patch(`${path}/${CREATED}`, { type: CREATED }), ok(source(CREATED))],
      [patch(`${path}/${CREATED}`, { nonsense: 1 }), invalid({ '/nonsense': 'unknown field' })],
      [get(path), ok({ sources: [source(CREATED)] })],
    ],
  },
  {
    rule: 'Deleting a source answers 204 without a body; the subscription has the others',
    given: { ...given, second: add(UPDATED) },
    ask: del(`${path}/${CREATED}`),
    answer: noContent,
    later: [
      [get(`${path}/${CREATED}`), refused('NOT_FOUND', { id: '{made.id}', type: CREATED })],
      [get(subscription), ok({ sources: [source(UPDATED)] })],
    ],
  },
];

const rules: Row[] = [
  {
    rule: 'A source can be added to a subscription only once: adding it again is a conflict',
    given,
    ask: add(CREATED),
    answer: refused('CONFLICT', { '/type': /is already a source/ }),
    later: [[get(path), ok({ sources: [source(CREATED)] })]],
  },
  {
    rule: 'A source must have a known type; the error names the unknown one and the three nearest',
    given,
    ask: add('ip_polices_created.v0'),
    answer: invalid({
      '/type':
        /^"ip_polices_created\.v0" is not an event type; the most similar ones are ip_policy_created\.v0, \w+\.v0, \w+\.v0$/,
    }),
    later: [[get(path), ok({ sources: [source(CREATED)] })]],
  },
  {
    rule: 'A type that was not added is not a source: it cannot be read, updated or deleted',
    given,
    ask: get(`${path}/${UPDATED}`),
    answer: refused('NOT_FOUND', { id: '{made.id}', type: UPDATED }),
    later: [
      [patch(`${path}/${UPDATED}`, {}), refused('NOT_FOUND', { type: UPDATED })],
      [del(`${path}/${UPDATED}`), refused('NOT_FOUND', { type: UPDATED })],
      [get(`${path}/nonsense`), refused('NOT_FOUND', { type: 'nonsense' })],
    ],
  },
  {
    rule: 'Without a subscription there are no sources',
    ask: get(nowhere),
    answer: refused('NOT_FOUND'),
    later: [
      [post(nowhere, { type: CREATED }), refused('NOT_FOUND')],
      [get(`${nowhere}/${CREATED}`), refused('NOT_FOUND')],
      [patch(`${nowhere}/${CREATED}`, {}), refused('NOT_FOUND')],
      [del(`${nowhere}/${CREATED}`), refused('NOT_FOUND')],
    ],
  },
  {
    rule: 'Adding or deleting a source changes its subscription; the list and each source have the ETag of the subscription',
    given: { ...given, second: add(UPDATED) },
    ask: get(subscription),
    answer: { ...ok({ sources: [source(CREATED), source(UPDATED)] }), ...etag(2) },
    later: [
      [get(path), { ...ok({}), ...etag(2) }],
      [get(`${path}/${CREATED}`), { ...ok({}), ...etag(2) }],
      [del(`${path}/${UPDATED}`), noContent],
      [get(path), { ...ok({}), ...etag(3) }],
    ],
  },
  {
    rule: 'With If-Match, sources change only at the revision of their subscription',
    given: { ...given, second: add(UPDATED) },
    ask: del(`${path}/${CREATED}`, { headers: { 'if-match': '"1"' } }),
    answer: refused('PRECONDITION_FAILED', { etag: '"2"' }),
    later: [
      [get(path, { headers: { 'if-none-match': '"2"' } }), { status: 304 }],
      [get(`${path}/${CREATED}`, { headers: { 'if-none-match': '"2"' } }), { status: 304 }],
      [patch(`${path}/${CREATED}`, {}, { headers: { 'if-match': '"1"' } }), refused('PRECONDITION_FAILED')],
      [del(`${path}/${CREATED}`, { headers: { 'if-match': '"2"' } }), noContent],
    ],
  },
  {
    rule: 'The same source under the same key is added once',
    given: { ...given, second: post(path, { type: UPDATED }, { headers: { 'idempotency-key': 'once-{unique}' } }) },
    ask: post(path, { type: UPDATED }, { headers: { 'idempotency-key': 'once-{unique}' } }),
    answer: {
      ...created(source(UPDATED)),
      headers: { 'idempotency-replayed': 'true', location: `{base}${path}/${UPDATED}`, etag: '"2"' },
    },
    later: [[get(path), ok({ sources: [source(CREATED), source(UPDATED)] })]],
  },
];

export const eventSources: Section = { title: 'Event sources', rows: [...operations, ...rules] };
