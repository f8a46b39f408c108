import { account } from '../../../src/resources/account.ts';
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
  refused,
  type Section,
} from '../row.ts';

const path = '/accounts';
const policies = '/ip_policies';
const inside = { headers: { account: '{team.id}' } };
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
  ],
};
