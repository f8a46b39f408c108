import {
  by,
  created,
  del,
  get,
  invalid,
  noContent,
  ok,
  patch,
  post,
  put,
  type Row,
  refused,
  type Section,
} from '../row.ts';

const viewer = {
  owner: post('/bot_users', { name: 'an auditor', role: 'viewer' }),
  key: post('/api_keys', { owner_id: '{owner.id}' }),
};
const readOnly = refused('PERMISSION_DENIED', { role: 'viewer' });
const lacking = (scope: string) => refused('PERMISSION_DENIED', { scope });
const scoped = (...scopes: string[]) => ({ key: post('/api_keys', { scopes }) });
const policy = { policy: post('/ip_policies', {}) };
const POLICY = '/ip_policies/{policy.id}';
const route = {
  edge: post('/edges/https', {}),
  backend: post('/backends/tunnel_group', { labels: { app: '{unique}' } }),
  route: post('/edges/https/{edge.id}/routes', { match: '/', match_type: 'path_prefix', backend_id: '{backend.id}' }),
};
const ROUTE = '/edges/https/{edge.id}/routes/{route.id}';
const OIDC = { issuer: 'https://accounts.example.com', client_id: 'my-id', client_secret: 'my-secret' };
const GITHUB = { client_id: 'my-id', client_secret: 'my-secret', organizations: ['acme'] };
const HEADERS = { authorization: 'Basic Og==', 'x-trace': 'a' };

/** What viewers see of a resource with a secret. */
const hidden = (what: string, given: Row['given'], path: string, whole: object, shown: object): Row => ({
  rule: `A viewer sees no ${what}`,
  given: { ...viewer, ...given },
  ask: get(path, by('key')),
  answer: ok(shown),
  later: [[get(path), ok(whole)]],
});

const roles: readonly Row[] = [
  {
    rule: 'A viewer reads what others may read, and changes nothing',
    given: { ...viewer, ...policy },
    ask: get(POLICY, by('key')),
    answer: ok({ id: '{policy.id}' }),
    later: [
      [get('/ip_policies?limit=1', by('key')), ok()],
      [post('/ip_policies', {}, by('key')), readOnly],
      [patch(POLICY, { description: 'mine' }, by('key')), readOnly],
      [put(`${POLICY}/rules`, { rules: [] }, by('key')), readOnly],
      [del(POLICY, by('key')), readOnly],
      [post('/api_keys', {}, by('key')), readOnly],
      [get('/users', by('key')), refused('PERMISSION_DENIED')],
      [get(POLICY), ok({ description: null })],
    ],
  },
  {
    rule: 'A new role takes effect with the next request',
    given: viewer,
    ask: patch('/bot_users/{owner.id}', { role: 'editor' }),
    answer: ok({ role: 'editor' }),
    later: [
      [post('/ip_policies', {}, by('key')), created()],
      [patch('/bot_users/{owner.id}', { role: 'viewer' }), ok({ role: 'viewer' })],
      [post('/ip_policies', {}, by('key')), readOnly],
    ],
  },
  hidden('client secret of OIDC', { ...route, module: put(`${ROUTE}/oidc`, OIDC) }, `${ROUTE}/oidc`, OIDC, {
    ...OIDC,
    client_secret: '…',
  }),
  hidden(
    'client secret of OAuth',
    { ...route, module: put(`${ROUTE}/oauth`, { provider: { github: GITHUB } }) },
    `${ROUTE}/oauth`,
    { provider: { github: GITHUB } },
    { provider: { github: { ...GITHUB, client_secret: '…' }, google: null } },
  ),
  hidden(
    'secret header of a fixed response',
    { backend: post('/backends/http_response', { headers: HEADERS }) },
    '/backends/http_response/{backend.id}',
    { headers: HEADERS },
    { headers: { ...HEADERS, authorization: '…' } },
  ),
  hidden(
    'secret header in a list',
    { backend: post('/backends/http_response', { headers: HEADERS }) },
    '/backends/http_response?limit=1',
    { backends: [{ headers: HEADERS }] },
    { backends: [{ headers: { ...HEADERS, authorization: '…' } }] },
  ),
];

const scopes: readonly Row[] = [
  {
    rule: 'A scope lets a key read a family',
    given: { ...scoped('ip_policies:read'), ...policy },
    ask: get(POLICY, by('key')),
    answer: ok({ id: '{policy.id}' }),
    later: [
      [get(`${POLICY}/rules`, by('key')), ok()],
      [patch(POLICY, {}, by('key')), lacking('ip_policies:write')],
      [get('/ip_policy_rules', by('key')), lacking('ip_policy_rules:read')],
    ],
  },
  {
    rule: 'A scope to write includes the one to read',
    given: { ...scoped('ip_policies:write'), ...policy },
    ask: patch(POLICY, { description: 'mine' }, by('key')),
    answer: ok({ description: 'mine' }),
    later: [
      [get(POLICY, by('key')), ok({ description: 'mine' })],
      [post('/ip_policies', {}, by('key')), created()],
      [del(POLICY, by('key')), noContent],
    ],
  },
  {
    rule: 'The scope *:read lets a key read everything that its owner may',
    given: { ...scoped('*:read'), ...policy },
    ask: get('/users?limit=1', by('key')),
    answer: ok(),
    later: [
      [get(POLICY, by('key')), ok({ id: '{policy.id}' })],
      [del(POLICY, by('key')), lacking('ip_policies:write')],
    ],
  },
  {
    rule: 'A module belongs to the family of its path',
    given: { ...route, ...scoped('https_edge_routes:write', 'https_edges:read') },
    ask: put(`${ROUTE}/oidc`, OIDC, by('key')),
    answer: ok(OIDC),
    later: [[del('/edges/https/{edge.id}', by('key')), lacking('https_edges:write')]],
  },
  {
    rule: 'The manager of a resource can be changed with the scope for the resource',
    given: { ...policy, ...scoped('ip_policies:write') },
    ask: del('/resource_managers/{policy.id}', by('key')),
    answer: noContent,
    later: [[del('/resource_managers/{key.id}', by('key')), lacking('api_keys:write')]],
  },
  {
    rule: 'A key is told its scopes, and the role of its owner if that is set',
    given: {
      owner: post('/bot_users', { name: 'an auditor', role: 'viewer' }),
      key: post('/api_keys', { owner_id: '{owner.id}', scopes: ['ip_policies:read'] }),
      user: post('/users', { name: 'Ada', role: 'admin' }),
      second: post('/api_keys', { owner_id: '{user.id}' }),
    },
    ask: get('/whoami', by('key')),
    answer: ok({ owner: { role: 'viewer' }, api_key: { scopes: ['ip_policies:read'] } }),
    later: [
      [get('/whoami', by('second')), ok({ owner: { role: 'admin' }, admin: true, api_key: { scopes: undefined } })],
      [patch('/users/{user.id}', { role: 'editor' }), ok()],
      [get('/whoami', by('second')), ok({ owner: { role: 'editor' }, admin: false })],
      [get('/whoami'), ok({ owner: { role: undefined }, api_key: { scopes: undefined } })],
    ],
  },
  {
    rule: 'A key gives no more than the role of its owner',
    given: {
      owner: post('/bot_users', { name: 'an auditor', role: 'viewer' }),
      key: post('/api_keys', { owner_id: '{owner.id}', scopes: ['ip_policies:write', 'users:read'] }),
    },
    ask: post('/ip_policies', {}, by('key')),
    answer: readOnly,
    later: [[get('/users', by('key')), refused('PERMISSION_DENIED')]],
  },
  {
    rule: 'A key with scopes creates only keys with scopes of its own',
    given: scoped('api_keys:write', 'ip_policies:read'),
    ask: post('/api_keys', { scopes: ['ip_policies:read', 'api_keys:read'] }, by('key')),
    answer: created({ scopes: ['ip_policies:read', 'api_keys:read'] }),
    later: [
      [post('/api_keys', {}, by('key')), invalid({ '/scopes': /^is required: .* api_keys:write, ip_policies:read$/ })],
      [
        post('/api_keys', { scopes: ['api_keys:read', 'ip_policies:write', '*:read'] }, by('key')),
        invalid({ '/scopes/1': /^must not exceed/, '/scopes/2': /^must not exceed/ }),
      ],
    ],
  },
  {
    rule: 'Without scopes, or with none in the list, a key may do all that its owner may',
    ask: post('/api_keys', { scopes: [] }),
    answer: created({ scopes: undefined }),
    later: [[post('/api_keys', { scopes: null }), created({ scopes: undefined })]],
  },
  {
    rule: 'The scopes of an API key may be sent back, and cannot be changed',
    given: scoped('ip_policies:read'),
    ask: patch('/api_keys/{key.id}', { scopes: ['ip_policies:read'], description: 'read' }),
    answer: ok({ scopes: ['ip_policies:read'], description: 'read' }),
    later: [
      [patch('/api_keys/{key.id}', { scopes: ['*:read'] }), invalid({ '/scopes': 'cannot be changed' })],
      [patch('/api_keys/{key.id}', { scopes: null }), invalid({ '/scopes': 'cannot be changed' })],
    ],
  },
  {
    rule: 'A scope that does not exist is refused; the error names those that do',
    ask: post('/api_keys', { scopes: ['*:read', 'ip_policy:read'] }),
    answer: invalid({ '/scopes/1': /^is not a scope: must be \*:read, or .*, ip_policies, .*, users$/ }),
    later: [
      [post('/api_keys', { scopes: ['ip_policies'] }), invalid({ '/scopes/0': /with :read or :write, as in/ })],
      [post('/api_keys', { scopes: ['*:write'] }), invalid({ '/scopes/0': /must be \*:read, or/ })],
      [post('/api_keys', { scopes: ['*:read', '*:read'] }), invalid({ '/scopes/1': 'is already at index 0' })],
      [post('/api_keys', { scopes: Array(65).fill('*:read') }), invalid({ '/scopes': 'must have at most 64' })],
    ],
  },
];

export const rolesAndScopes: Section = { title: 'Extension: roles and scopes', rows: [...roles, ...scopes] };
