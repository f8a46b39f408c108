import { account, FIRST_ACCOUNT, QUOTA_NAMES } from '../../../src/resources/account.ts';
import {
  by,
  created,
  del,
  get,
  idOf,
  invalid,
  NOBODY,
  noContent,
  ok,
  patch,
  post,
  put,
  refused,
  type Section,
  TIMESTAMP,
} from '../row.ts';

const path = '/accounts';
const policies = '/ip_policies';
const inside = { headers: { account: '{team.id}' } };
const once = { headers: { ...inside.headers, 'idempotency-key': '{unique}' } };
const forAll = (value: unknown) => Object.fromEntries(QUOTA_NAMES.map((name) => [name, value]));
const rule = (cidr: string) => ({ cidr, action: 'allow' });
const team = { team: post(path, { name: 'team {unique}' }) };
/** An admin of the account, and a key of theirs. */
const member = {
  ...team,
  member: post('/users', { name: 'Ada', admin: true }, inside),
  key: post('/api_keys', { owner_id: '{member.id}' }, inside),
};
const ONLY_THERE = 'is already used in another account';

export const accounts: Section = {
  title: 'Extension: accounts',
  family: account,
  rows: [
    {
      rule: 'An API key sees and changes what belongs to its account, and nothing else exists for it',
      given: { ...member, policy: post(policies, {}) },
      ask: post(policies, { description: 'ours' }, by('key')),
      answer: created({ id: idOf('ipp') }),
      later: [
        [get(`${policies}/{policy.id}`, by('key')), refused('NOT_FOUND', { id: '{policy.id}' })],
        [patch(`${policies}/{policy.id}`, { description: 'mine' }, by('key')), refused('NOT_FOUND')],
        [del(`${policies}/{policy.id}`, by('key')), refused('NOT_FOUND')],
        [get(`${policies}/{policy.id}`), ok()],
      ],
    },
    {
      rule: 'An admin of the first account acts in the account that the header Account names',
      given: { ...team, policy: post(policies, {}, inside) },
      ask: get(`${policies}/{policy.id}`, inside),
      answer: ok({ id: '{policy.id}' }),
      later: [
        [get(`${policies}/{policy.id}`), refused('NOT_FOUND')],
        [get(policies, { headers: { account: `acc_${NOBODY}` } }), invalid({ Account: /does not exist/ })],
        [get(policies, { headers: { account: 'team' } }), invalid({ Account: /must be an id that starts with acc_/ })],
      ],
    },
    {
      rule: 'All other callers may name only the account of their key',
      given: member,
      ask: get(policies, { headers: { ...by('key').headers, account: '{team.id}' }, as: 'anonymous' }),
      answer: ok(),
      later: [
        [get(policies, { ...inside, as: 'user' }), refused('PERMISSION_DENIED', { Account: '{team.id}' })],
        [get(policies, { headers: { account: `acc_${NOBODY}` }, as: 'user' }), refused('PERMISSION_DENIED')],
      ],
    },
    {
      rule: 'An admin manages the users and keys of their account; only admins of the first one manage accounts',
      given: member,
      ask: post('/users', { name: 'Grace' }, by('key')),
      answer: created({ id: idOf('usr') }),
      later: [
        [get('/users/{admin.id}', by('key')), refused('NOT_FOUND')],
        [get(path, by('key')), refused('PERMISSION_DENIED')],
        [get(`${path}/{team.id}`, by('key')), refused('PERMISSION_DENIED')],
      ],
    },
    {
      rule: 'An owner belongs to the account, so who acts in another one names an owner there',
      given: member,
      ask: post('/credentials', { owner_id: '{member.id}' }, inside),
      answer: created({ owner_id: '{member.id}' }),
      later: [
        [post('/credentials', {}, inside), invalid({ '/owner_id': /of the account/ })],
        [post('/credentials', { owner_id: '{user.id}' }, inside), invalid({ '/owner_id': /does not exist/ })],
        [post('/api_keys', { owner_id: '{user.id}' }, by('key')), invalid({ '/owner_id': /does not exist/ })],
      ],
    },
    {
      rule: 'Domains and hostports are unique over all accounts; a conflict does not say whose they are',
      given: {
        ...member,
        domain: post('/reserved_domains', { domain: '{unique}.example.com' }),
        edge: post('/edges/tls', { hostports: ['{unique}.example.com:443'] }),
      },
      ask: post('/reserved_domains', { domain: '{unique}.example.com' }, by('key')),
      answer: {
        ...refused('CONFLICT', { '/domain': ONLY_THERE }),
      },
      later: [
        [post('/reserved_domains', { domain: '*.{unique}.example.com' }, by('key')), created()],
        [
          post('/reserved_domains', { domain: 'a.{unique}.example.com' }),
          refused('CONFLICT', { '/domain': ONLY_THERE }),
        ],
        [
          post('/reserved_domains', { domain: '*.example.com' }, by('key')),
          refused('CONFLICT', { '/domain': ONLY_THERE }),
        ],
        [
          post('/edges/tls', { hostports: ['{unique}.example.com:443'] }, by('key')),
          invalid({ '/hostports/0': /not covered/ }),
        ],
      ],
    },
    {
      rule: 'The same idempotency key makes one resource in each account',
      given: { ...team, first: post(policies, {}, { headers: { 'idempotency-key': '{unique}' } }) },
      ask: post(policies, {}, { headers: { ...inside.headers, 'idempotency-key': '{unique}' } }),
      answer: created(),
      later: [[get(`${policies}/{first.id}`, inside), refused('NOT_FOUND')]],
    },
    {
      rule: 'The quota of a family limits how many of it an account has; null removes it',
      given: {
        team: post(path, { name: 'team {unique}', quotas: { ip_policies: 1, users: null } }),
        policy: post(policies, {}, inside),
      },
      ask: post(policies, {}, inside),
      answer: refused('QUOTA_EXCEEDED', { family: 'ip_policies', limit: '1', used: '1' }),
      later: [
        [get(`${path}/{team.id}`), ok({ quotas: { ip_policies: 1 } })],
        [patch(`${policies}/{policy.id}`, { description: 'changed' }, inside), ok()],
        [post('/users', { name: 'Ada' }, inside), created()],
        [del(`${policies}/{policy.id}`, inside), noContent],
        [post(policies, {}, inside), created()],
        [post(policies, {}, inside), refused('QUOTA_EXCEEDED')],
        [patch(`${path}/{team.id}`, { quotas: null }), ok({ quotas: null })],
        [post(policies, {}, inside), created()],
      ],
    },
    {
      rule: 'A quota counts all rules of the account, whichever way they are created',
      given: {
        team: post(path, { name: 'team {unique}', quotas: { ip_policy_rules: 2 } }),
        policy: post(policies, {}, inside),
        rule: post('/ip_policy_rules', { ip_policy_id: '{policy.id}', cidr: '10.0.0.0/8', action: 'allow' }, inside),
        other: post(policies, {}, inside),
      },
      ask: put(`${policies}/{other.id}/rules`, { rules: [rule('10.0.0.0/8'), rule('192.0.2.0/24')] }, inside),
      answer: refused('QUOTA_EXCEEDED', { family: 'ip_policy_rules', limit: '2', used: '1' }),
      later: [
        [get(`${policies}/{other.id}/rules`, inside), ok({ ip_policy_rules: [] })],
        [put(`${policies}/{other.id}/rules`, { rules: [rule('10.0.0.0/8')] }, inside), ok()],
        [put(`${policies}/{other.id}/rules`, { rules: [rule('192.0.2.0/24')] }, inside), ok()],
      ],
    },
    {
      rule: 'A quota is a number of resources of a family; the first account has none',
      given: team,
      ask: patch(`${path}/{team.id}`, { quotas: { ip_policy: 1, users: -1, accounts: 3 } }),
      answer: invalid({
        '/quotas/ip_policy': /^must be one of ip_policies, ip_policy_rules, .*api_keys$/,
        '/quotas/users': 'must be at least 0',
        '/quotas/accounts': /^must be one of/,
      }),
      later: [
        [patch(`${path}/{team.id}`, { quotas: { users: 1.5 } }), invalid({ '/quotas/users': /whole number/ })],
        [patch(`${path}/${FIRST_ACCOUNT}`, { quotas: { users: 9 } }), invalid({ '/quotas': /first account/ })],
      ],
    },
    {
      rule: 'A create under an idempotency key that exceeds a quota has not used the key',
      given: { team: post(path, { name: 'team {unique}', quotas: { ip_policies: 0 } }) },
      ask: post(policies, {}, once),
      answer: refused('QUOTA_EXCEEDED'),
      later: [
        [patch(`${path}/{team.id}`, { quotas: { ip_policies: 1 } }), ok()],
        [post(policies, {}, once), created()],
        [post(policies, {}, once), { ...created(), headers: { 'idempotency-replayed': 'true' } }],
      ],
    },
    {
      rule: 'The account of the caller is that of the API key',
      ask: get('/account'),
      answer: ok({ id: FIRST_ACCOUNT, quotas: null }),
    },
    {
      rule: 'The usage of an account is counted by family',
      ask: get('/account/usage'),
      answer: ok({ account: { id: FIRST_ACCOUNT } }),
    },
    {
      rule: 'Everybody may read their account',
      given: member,
      ask: get('/account', by('key')),
      answer: ok({ id: '{team.id}', name: '{team.name}', quotas: null, requests_per_second: null }),
      later: [
        [get('/account'), ok({ id: FIRST_ACCOUNT })],
        [get('/account', { as: 'user' }), ok({ id: FIRST_ACCOUNT })],
        [get('/account', inside), ok({ id: '{team.id}' })],
      ],
    },
    {
      rule: 'Everybody may read how many resources of each family their account has, and may have',
      given: {
        ...member,
        policy: post(policies, {}, by('key')),
        limited: patch(`${path}/{team.id}`, { quotas: { users: 5 } }),
      },
      ask: get('/account/usage', by('key')),
      answer: ok({
        uri: '{base}/account/usage',
        account: { id: '{team.id}' },
        families: {
          ip_policies: { used: 1, limit: null },
          users: { used: 1, limit: 5 },
          api_keys: { used: 1, limit: null },
          https_edges: { used: 0, limit: null },
        },
      }),
      later: [[get('/account/usage', inside), ok({ families: { ip_policies: { used: 1, limit: null } } })]],
    },
    {
      rule: 'Each family can have a quota',
      given: team,
      ask: patch(`${path}/{team.id}`, { quotas: forAll(7) }),
      answer: ok({ quotas: forAll(7) }),
      later: [
        [get('/account/usage', inside), ok({ families: forAll({ used: 0, limit: 7 }) })],
        [post(path, { name: 'another', quotas: forAll(8) }), created({ quotas: forAll(8) })],
        [get('/account', inside), ok({ quotas: forAll(7) })],
      ],
    },
    {
      rule: 'An account can have a limit on requests a second; null removes it',
      given: team,
      ask: patch(`${path}/{team.id}`, { requests_per_second: 500 }),
      answer: ok({ requests_per_second: 500 }),
      later: [
        [get('/account', inside), ok({ requests_per_second: 500 })],
        [patch(`${path}/{team.id}`, { requests_per_second: null }), ok({ requests_per_second: null })],
      ],
    },
    {
      rule: 'An account can be deleted once it holds nothing',
      given: { ...member, policy: post(policies, {}, inside) },
      ask: del(`${path}/{team.id}`),
      answer: refused('RESOURCE_IN_USE', {
        ip_policies: 'belong to it',
        users: 'belong to it',
        api_keys: 'belong to it',
      }),
      later: [
        [del('/api_keys/{key.id}', inside), noContent],
        [del('/users/{member.id}', inside), noContent],
        [del(`${policies}/{policy.id}`, inside), noContent],
        [del(`${path}/{team.id}`), noContent],
        [get(policies, inside), invalid({ Account: /does not exist/ })],
      ],
    },
    {
      rule: 'With cascade, an account is deleted with all that belongs to it: nobody may act in it from then on',
      given: { ...member, policy: post(policies, {}, inside) },
      ask: del(`${path}/{team.id}?cascade=true`),
      answer: {
        status: 202,
        body: {
          id: '{team.id}',
          name: '{team.name}',
          deletion: { started_at: TIMESTAMP, remaining: null, error: null },
        },
      },
      later: [
        [get(policies, by('key')), refused('UNAUTHENTICATED')],
        [get(policies, inside), invalid({ Account: /is being deleted|does not exist/ })],
        [post(policies, {}, inside), invalid({ Account: /is being deleted|does not exist/ })],
      ],
    },
    {
      rule: 'The value of cascade is true or false',
      given: team,
      ask: del(`${path}/{team.id}?cascade=yes`),
      answer: invalid({ '?cascade': 'must be "true" or "false"' }),
      later: [[del(`${path}/{team.id}?cascade=false`), noContent]],
    },
    {
      rule: 'The first account can never be deleted',
      ask: del(`${path}/${FIRST_ACCOUNT}?cascade=true`),
      answer: { status: 409, body: { error_code: 'CONFLICT', msg: 'The first account can never be deleted.' } },
    },
  ],
};
