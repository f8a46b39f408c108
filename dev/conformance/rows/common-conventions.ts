/** How requests for any resource are made and answered. */
import { by, created, del, get, idOf, invalid, NOBODY, ok, patch, post, type Section, type Step } from '../row.ts';

const made = { made: post('/ip_policies', {}) };
const backend = { body: 'down', headers: { 'x-a': 'b' }, status_code: 503, description: 'd', metadata: 'm' };

/** Three credentials of a bot that has no others. */
const three = {
  owner: post('/bot_users', { name: 'a bot' }),
  key: post('/api_keys', { owner_id: '{owner.id}' }),
  first: post('/credentials', {}, by('key')),
  second: post('/credentials', {}, by('key')),
  third: post('/credentials', {}, by('key')),
};
const page = (query: string): Step => get(`/credentials${query}`, by('key'));
const has = (ids: readonly string[], next: string | null) =>
  ok({
    credentials: ids.map((name) => ({ id: `{${name}.id}` })),
    uri: '{base}/credentials',
    next_page_uri: next === null ? null : `{base}/credentials${next}`,
  });

export const commonConventions: Section = {
  title: 'Common conventions',
  rows: [
    {
      rule: 'A request has a key, the version and, with a body, the type application/json',
      ask: post('/ip_policies', {}, { headers: { 'service-version': '2', 'content-type': 'application/json' } }),
      answer: { ...created({ id: idOf('ipp') }), headers: { 'content-type': /^application\/json/ } },
    },
    {
      rule: 'A create without a body is treated as one with an empty object',
      ask: post('/ip_policies'),
      answer: created({ description: null, metadata: null }),
    },
    {
      rule: 'A PATCH with null resets a field to its default',
      given: { made: post('/backends/http_response', backend) },
      ask: patch('/backends/http_response/{made.id}', {
        body: null,
        headers: null,
        status_code: null,
        description: null,
        metadata: null,
      }),
      answer: ok({ body: '', headers: null, status_code: 200, description: null, metadata: null }),
    },
    {
      rule: 'A body may repeat the id in the path, but not name another',
      given: made,
      ask: patch('/ip_policies/{made.id}', { id: '{made.id}' }),
      answer: ok({ id: '{made.id}' }),
      later: [
        [
          patch('/ip_policies/{made.id}', { id: `ipp_${NOBODY}` }),
          invalid({ '/id': 'must equal the "id" in the path' }),
        ],
      ],
    },
    {
      rule: 'Following next_page_uri leads through the whole list, newest first, until it is null',
      given: three,
      ask: page('?limit=1'),
      answer: has(['third'], '?before_id={third.id}&limit=1'),
      later: [
        [page('?before_id={third.id}&limit=1'), has(['second'], '?before_id={second.id}&limit=1')],
        [page('?before_id={second.id}&limit=1'), has(['first'], null)],
      ],
    },
    {
      rule: 'An empty query parameter counts as not sent',
      given: three,
      ask: page('?before_id=&limit='),
      answer: has(['third', 'second', 'first'], null),
      later: [[page('?before_id=&limit=1'), has(['third'], '?before_id={third.id}&limit=1')]],
    },
    {
      rule: 'Without a limit a page has 100 items',
      given: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`n${n}`, post('/ip_policies', {})])),
      ask: get('/ip_policies'),
      answer: ok({
        ip_policies: Array.from({ length: 100 }, (_, n) => ({ id: `{n${100 - n}.id}` })),
        next_page_uri: '{base}/ip_policies?before_id={n1.id}&limit=100',
      }),
    },
    {
      rule: 'A page may start after a resource that has since been deleted',
      given: { ...three, gone: del('/credentials/{second.id}') },
      ask: page('?before_id={second.id}'),
      answer: has(['first'], null),
    },
    {
      rule: 'Resources created while paging are on no later page',
      given: { ...three, seen: page('?limit=1'), fourth: post('/credentials', {}, by('key')) },
      ask: page('?before_id={third.id}&limit=2'),
      answer: has(['second', 'first'], null),
    },
    {
      rule: 'An unknown query parameter is refused by name',
      ask: get('/ip_policies?offset=3&page=1'),
      answer: invalid({
        '?offset': /^unknown query parameter; known are limit, /,
        '?page': /^unknown query parameter/,
      }),
    },
    {
      rule: 'The error lists every invalid field of a body',
      ask: post('/ip_policies', { descripton: 'a', 'a/b~c': 1, metadata: 3 }),
      answer: invalid({
        '/descripton': 'unknown field',
        '/a~1b~0c': 'unknown field',
        '/metadata': 'must be a string, not a number',
      }),
    },
    {
      rule: 'A request may carry its own request id, which the response repeats',
      ask: get('/ip_policies?limit=1', { headers: { 'x-request-id': 'from-{unique}' } }),
      answer: { status: 200, headers: { 'x-request-id': 'from-{unique}' } },
    },
    {
      rule: 'A request without a valid request id gets one',
      ask: get('/ip_policies?limit=1'),
      answer: { status: 200, headers: { 'x-request-id': /^[0-9a-f-]{36}$/ } },
      later: [
        [
          get('/ip_policies?limit=1', { headers: { 'x-request-id': 'two words' } }),
          { status: 200, headers: { 'x-request-id': /^[0-9a-f-]{36}$/ } },
        ],
      ],
    },
  ],
};
