/** Tunnel credentials, without what their rules permit (bind-rules.ts). */
import { credential } from '../../../src/resources/credential.ts';
import {
  by,
  created,
  del,
  get,
  invalid,
  noContent,
  not,
  ok,
  patch,
  post,
  type Row,
  refused,
  type Section,
} from '../row.ts';
import { bindRules } from './bind-rules.ts';

const path = '/credentials';
const TOKEN = /^tnl_cr_[0-9A-Za-z]{43}$/;
const ask = (bind?: string) => post(`${path}/authenticate`, { token: '{made.token}', bind });
const NOBODY = ok({ allowed: false, credential_id: null, owner_id: null, matched_rule: null });
const inactive = {
  owner: post('/bot_users', { name: 'a bot' }),
  made: post(path, { owner_id: '{owner.id}' }),
};

const tokens: readonly Row[] = [
  {
    rule: 'Creating a credential returns its authtoken',
    ask: post(path, {}),
    answer: created({ token: TOKEN }),
  },
  {
    rule: 'No later response contains the authtoken of a credential',
    given: { made: post(path, {}) },
    ask: get(`${path}/{made.id}`),
    answer: ok({ id: '{made.id}', token: null }),
    later: [
      [get(`${path}?limit=1`), ok({ credentials: [{ id: '{made.id}', token: null }] })],
      [patch(`${path}/{made.id}`, { description: 'changed' }), ok({ id: '{made.id}', token: null })],
    ],
  },
  {
    rule: 'Every credential has an authtoken of its own',
    given: { made: post(path, {}) },
    ask: post(path, {}),
    answer: created({ token: not('{made.token}') }),
  },
  {
    rule: 'The service generates an authtoken, and it never changes',
    given: { made: post(path, {}) },
    ask: post(path, { token: 'mine' }),
    answer: invalid({ '/token': 'is set by the service' }),
    later: [[patch(`${path}/{made.id}`, { token: 'mine' }), invalid({ '/token': 'is set by the service' })]],
  },
  {
    rule: 'A tunnel agent is identified by its authtoken',
    given: { made: post(path, { acl: ['bind:example.com'] }) },
    ask: ask(),
    answer: ok({ allowed: true, credential_id: '{made.id}', owner_id: '{admin.id}', matched_rule: null }),
  },
  {
    rule: 'An unknown authtoken is not allowed and reveals nothing',
    ask: post(`${path}/authenticate`, { token: 'tnl_cr_unknown', bind: 'example.com' }),
    answer: NOBODY,
  },
  {
    rule: 'The authtoken of a deleted credential no longer works',
    given: { made: post(path, {}), gone: del(`${path}/{made.id}`) },
    ask: ask(),
    answer: NOBODY,
  },
  {
    rule: 'The authtokens of an owner do not work while the owner is inactive',
    given: { ...inactive, off: patch('/bot_users/{owner.id}', { active: false }) },
    ask: ask(),
    answer: NOBODY,
    later: [
      [patch('/bot_users/{owner.id}', { active: true }), ok({ active: true })],
      [ask(), ok({ allowed: true, credential_id: '{made.id}', owner_id: '{owner.id}' })],
    ],
  },
  {
    rule: 'Asking about an authtoken requires one, and the target must be valid',
    ask: post(`${path}/authenticate`, {}),
    answer: invalid({ '/token': 'is required' }),
    later: [
      [post(`${path}/authenticate`, { token: 't', bind: 'a b' }), invalid({ '/bind': /white space/ })],
      [post(`${path}/authenticate`, { token: 't', bind: 'app=*' }), invalid({ '/bind': /wildcard/ })],
    ],
  },
];

const owners: readonly Row[] = [
  {
    rule: 'The owner of a credential defaults to its creator',
    ask: post(path, { description: 'mine' }),
    answer: created({ owner_id: '{admin.id}' }),
    later: [[post(path, { owner_id: null }, { as: 'bot' }), created({ owner_id: '{bot.id}' })]],
  },
  {
    rule: 'A credential belongs to a user or to a bot',
    ask: post(path, { owner_id: '{user.id}' }),
    answer: created({ owner_id: '{user.id}' }),
    later: [
      [post(path, { owner_id: '{bot.id}' }), created({ owner_id: '{bot.id}' })],
      [post(path, { owner_id: 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd' }), invalid({ '/owner_id': /usr_ or bot_/ })],
    ],
  },
  {
    rule: 'The owner of a credential must exist',
    ask: post(path, { owner_id: 'bot_01k9zq3v5hf8svx2r4c6y7n0wd' }),
    answer: invalid({ '/owner_id': /owner \w+ does not exist/ }),
  },
  {
    rule: 'The owner of a credential cannot be changed',
    given: { made: post(path, {}) },
    ask: patch(`${path}/{made.id}`, { owner_id: '{bot.id}' }),
    answer: invalid({ '/owner_id': 'cannot be changed' }),
  },
  {
    rule: 'The owner of a credential may read, change and delete it; only admins may do so, too',
    given: { made: post(path, {}, { as: 'user' }) },
    ask: patch(`${path}/{made.id}`, { description: 'mine' }, { as: 'user' }),
    answer: ok({ description: 'mine' }),
    later: [
      [get(`${path}/{made.id}`, { as: 'bot' }), refused('NOT_FOUND')],
      [patch(`${path}/{made.id}`, { description: 'x' }, { as: 'bot' }), refused('NOT_FOUND')],
      [del(`${path}/{made.id}`, { as: 'bot' }), refused('NOT_FOUND')],
      [get(`${path}/{made.id}`), ok({ owner_id: '{user.id}' })],
      [del(`${path}/{made.id}`, { as: 'user' }), noContent],
    ],
  },
  {
    rule: 'A list of credentials shows only those that the caller owns, unless the caller is an admin',
    given: {
      owner: post('/bot_users', { name: 'a bot' }),
      key: post('/api_keys', { owner_id: '{owner.id}' }),
      own: post(path, {}, by('key')),
      other: post(path, {}),
    },
    ask: get(path, by('key')),
    answer: ok({ credentials: [{ id: '{own.id}', owner_id: '{owner.id}' }], next_page_uri: null }),
    later: [[get(`${path}?limit=2`), ok({ credentials: [{ id: '{other.id}' }, { id: '{own.id}' }] })]],
  },
];

export const credentials: Section = {
  title: 'Tunnel credentials',
  family: credential,
  rows: [...tokens, ...owners, ...bindRules],
};
