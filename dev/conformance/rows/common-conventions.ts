/** How requests are made and answered, whatever they are about. */
import {
  by,
  created,
  del,
  get,
  idOf,
  invalid,
  noContent,
  ok,
  patch,
  post,
  put,
  type Row,
  refTo,
  type Section,
  type Step,
} from '../row.ts';

const made = { made: post('/ip_policies', {}) };
const backend = { body: 'down', headers: { 'x-a': 'b' }, status_code: 503, description: 'd', metadata: 'm' };
const restricted = { edge: post('/edges/tls', {}), policy: post('/ip_policies', {}), other: post('/ip_policies', {}) };
const restriction = '/edges/tls/{edge.id}/ip_restriction';

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

const NESTED = `{"metadata":${'['.repeat(33)}${']'.repeat(33)}}`;

const malformed = (rule: string, body: string, details: Readonly<Record<string, string | RegExp>>): Row => ({
  rule,
  ask: post('/ip_policies', body),
  answer: invalid(details),
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
      rule: 'The type of a body may say that it is in UTF-8',
      ask: post('/ip_policies', {}, { headers: { 'content-type': 'application/json; charset=utf-8' } }),
      answer: created({ id: idOf('ipp') }),
    },
    {
      rule: 'A create without a body is treated as one with an empty object',
      ask: post('/ip_policies'),
      answer: created({ description: null, metadata: null }),
    },
    {
      rule: 'A create answers 201 with the resource, and its address also in Location',
      ask: post('/ip_policies', { description: 'new' }),
      answer: { ...created({ description: 'new' }), headers: { location: /^{base}\/ip_policies\/ipp_/ } },
    },
    {
      rule: 'A PATCH changes only what it names, and answers 200 with the whole resource',
      given: { made: post('/backends/http_response', backend) },
      ask: patch('/backends/http_response/{made.id}', { status_code: 404 }),
      answer: ok({ ...backend, id: '{made.id}', status_code: 404 }),
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
      rule: 'A PATCH without a body is treated as one with an empty object',
      given: { made: post('/ip_policies', { description: 'kept' }) },
      ask: patch('/ip_policies/{made.id}'),
      answer: ok({ description: 'kept' }),
    },
    {
      rule: 'A PUT of a module returns 200 with the module',
      given: restricted,
      ask: put(restriction, { enabled: false, ip_policy_ids: ['{policy.id}'] }),
      answer: ok({ enabled: false, ip_policies: [refTo('/ip_policies', 'policy')] }),
    },
    {
      rule: 'A PUT replaces a module as a whole: fields that are left out get their default',
      given: { ...restricted, before: put(restriction, { enabled: false, ip_policy_ids: ['{policy.id}'] }) },
      ask: put(restriction, { ip_policy_ids: ['{other.id}'] }),
      answer: ok({ enabled: true, ip_policies: [refTo('/ip_policies', 'other')] }),
      later: [[get(restriction), ok({ enabled: true, ip_policies: [refTo('/ip_policies', 'other')] })]],
    },
    {
      rule: 'Deleting a module and detaching return 204 without a body',
      given: {
        ...restricted,
        before: put(restriction, { ip_policy_ids: ['{policy.id}'] }),
        domain: post('/reserved_domains', { domain: '{unique}.example.net' }),
      },
      ask: del(restriction),
      answer: noContent,
      later: [[del('/reserved_domains/{domain.id}/certificate'), noContent]],
    },
    {
      rule: 'A body may repeat the id in the path, but not name another',
      given: made,
      ask: patch('/ip_policies/{made.id}', { id: '{made.id}' }),
      answer: ok({ id: '{made.id}' }),
      later: [
        [
          patch('/ip_policies/{made.id}', { id: 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd' }),
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
      rule: 'A last page that is not full has no next page',
      given: three,
      ask: page('?limit=2'),
      answer: has(['third', 'second'], '?before_id={second.id}&limit=2'),
      later: [[page('?before_id={second.id}&limit=2'), has(['first'], null)]],
    },
    {
      rule: 'Without a limit a short list has one page',
      given: three,
      ask: page(''),
      answer: has(['third', 'second', 'first'], null),
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
      rule: 'A query parameter may be given only once',
      ask: get('/ip_policies?limit=1&limit=2'),
      answer: invalid({ '?limit': /once/ }),
    },
    {
      rule: 'An unknown query parameter is refused by name',
      ask: get('/ip_policies?offset=3&page=1'),
      answer: invalid({ '?offset': 'unknown query parameter', '?page': 'unknown query parameter' }),
    },
    {
      rule: 'Lists have no filters',
      given: made,
      ask: get('/ip_policy_rules?ip_policy_id={made.id}'),
      answer: invalid({ '?ip_policy_id': 'unknown query parameter' }),
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
    malformed('A body must be JSON', '{"description":', { body: /JSON/ }),
    malformed('A body must be an object', '["description"]', { body: /must be a JSON object/ }),
    malformed('A body must not be null', 'null', { body: /must be a JSON object/ }),
    malformed('A body may not repeat a member', '{"description":"a","description":"b"}', { body: /twice/ }),
    malformed('A body may not have a member named __proto__', '{"__proto__":{}}', { body: /__proto__/ }),
    malformed('A body may be nested up to 32 levels', NESTED, { body: /nested/ }),
    malformed('A text may not have a NUL character', '{"description":"a\\u0000b"}', { '/description': /NUL/ }),
    malformed('A text must be Unicode', '{"description":"a\\ud800b"}', { '/description': /surrogate/ }),
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
