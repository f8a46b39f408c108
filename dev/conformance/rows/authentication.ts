/** Who calls, how they say so, and what callers who are no admins may do. */
import { FAMILIES } from '../../../src/resources/families.ts';
import {
  by,
  created,
  del,
  get,
  idOf,
  noContent,
  ok,
  patch,
  post,
  type Row,
  refused,
  type Section,
  type Step,
} from '../row.ts';

const bot = post('/bot_users', { name: 'a bot' });
const key = post('/api_keys', { owner_id: '{owner.id}' });
/** A bot with a key of its own. */
const keyed = { owner: bot, key };

const stranger = (authorization: string): Step => get('/ip_policies', { as: 'anonymous', headers: { authorization } });
const unauthenticated = { ...refused('UNAUTHENTICATED'), headers: { 'www-authenticate': 'Bearer' } };

const lists = (access: 'admins' | 'everyone') =>
  FAMILIES.filter((family) => !family.parent && (family.access === 'admin') === (access === 'admins')).map(
    ({ path }) => path,
  );
const FOR_EVERYONE = [...lists('everyone'), '/event_types'];
const FOR_ADMINS = lists('admins');

const mayRead = (as: 'user' | 'bot'): Row => ({
  rule: `A ${as} may use every family that is not restricted to admins`,
  ask: post('/ip_policies', {}, { as }),
  answer: created({ id: idOf('ipp') }),
  later: FOR_EVERYONE.map((path) => [get(path, { as }), ok({ uri: `{base}${path}` })] as const),
});

const mayNot = (as: 'user' | 'bot'): Row => ({
  rule: `A ${as} may not see or change users, bots, event subscriptions and event destinations, nor ask about authtokens`,
  ask: post('/credentials/authenticate', { token: 'any' }, { as }),
  answer: refused('PERMISSION_DENIED'),
  later: FOR_ADMINS.flatMap((path) => [
    [get(path, { as }), refused('PERMISSION_DENIED')] as const,
    [post(path, {}, { as }), refused('PERMISSION_DENIED')] as const,
  ]),
});

export const authentication: Section = {
  title: 'Authentication',
  rows: [
    {
      rule: 'An API key as a Bearer token identifies the caller',
      given: keyed,
      ask: post('/credentials', {}, by('key')),
      answer: created({ owner_id: '{owner.id}' }),
    },
    {
      rule: 'The scheme Bearer may be in lower case',
      given: keyed,
      ask: stranger('bearer {key.token}'),
      answer: ok(),
    },
    {
      rule: 'A request without a key is refused',
      ask: get('/ip_policies', { as: 'anonymous' }),
      answer: unauthenticated,
    },
    {
      rule: 'An unknown key is refused',
      ask: stranger('Bearer tnl_ak_unknown'),
      answer: unauthenticated,
    },
    {
      rule: 'A key that is not sent as a Bearer token is refused',
      given: keyed,
      ask: stranger('{key.token}'),
      answer: unauthenticated,
      later: [
        [stranger('Basic {key.token}'), unauthenticated],
        [stranger('Bearer'), unauthenticated],
        [stranger('Bearer {key.token} {key.token}'), unauthenticated],
      ],
    },
    {
      rule: 'An expired key is refused',
      given: { owner: bot, key: post('/api_keys', { owner_id: '{owner.id}', expires_at: '2001-01-01T00:00:00Z' }) },
      ask: get('/ip_policies', by('key')),
      answer: unauthenticated,
    },
    {
      rule: 'A deleted key is refused from the next request on',
      given: { ...keyed, before: get('/ip_policies', by('key')) },
      ask: del('/api_keys/{key.id}'),
      answer: noContent,
      later: [[get('/ip_policies', by('key')), unauthenticated]],
    },
    {
      rule: 'A key whose owner is inactive is refused, and works again once the owner is active',
      given: { ...keyed, before: get('/ip_policies', by('key')) },
      ask: patch('/bot_users/{owner.id}', { active: false }),
      answer: ok({ active: false }),
      later: [
        [get('/ip_policies', by('key')), unauthenticated],
        [patch('/bot_users/{owner.id}', { active: true }), ok({ active: true })],
        [get('/ip_policies', by('key')), ok()],
      ],
    },
    {
      rule: 'The caller is authenticated before the body is parsed',
      ask: post('/ip_policies', '{"', { as: 'anonymous' }),
      answer: unauthenticated,
    },
    {
      rule: 'The authtoken of a tunnel agent does not work as an API key',
      given: { credential: post('/credentials', {}) },
      ask: get('/ip_policies', by('credential')),
      answer: unauthenticated,
    },
    {
      rule: 'An API key does not work as the authtoken of a tunnel agent',
      given: keyed,
      ask: post('/credentials/authenticate', { token: '{key.token}' }),
      answer: ok({ allowed: false, credential_id: null, owner_id: null, matched_rule: null }),
    },
    {
      rule: 'The token that an agent authenticates with is shown when it is created, and never again',
      given: { made: post('/credentials', {}) },
      ask: get('/credentials/{made.id}'),
      answer: ok({ token: null }),
      later: [[post('/credentials/authenticate', { token: '{made.token}' }), ok({ credential_id: '{made.id}' })]],
    },
    {
      rule: 'A credential belongs to the user who creates it',
      ask: post('/credentials', {}, { as: 'user' }),
      answer: created({ owner_id: '{user.id}' }),
    },
    {
      rule: 'A credential belongs to the bot that creates it',
      ask: post('/credentials', {}, { as: 'bot' }),
      answer: created({ owner_id: '{bot.id}' }),
    },
    {
      rule: 'A caller may name themselves as the owner',
      ask: post('/credentials', { owner_id: '{user.id}' }, { as: 'user' }),
      answer: created({ owner_id: '{user.id}' }),
    },
    {
      rule: 'An admin may create a credential for any user or bot',
      ask: post('/credentials', { owner_id: '{bot.id}' }),
      answer: created({ owner_id: '{bot.id}' }),
      later: [[post('/credentials', { owner_id: '{user.id}' }), created({ owner_id: '{user.id}' })]],
    },
    {
      rule: 'A user who is not an admin may not name another owner',
      ask: post('/credentials', { owner_id: '{bot.id}' }, { as: 'user' }),
      answer: refused('PERMISSION_DENIED', { '/owner_id': '{bot.id}' }),
      later: [
        [post('/api_keys', { owner_id: '{bot.id}' }, { as: 'user' }), refused('PERMISSION_DENIED')],
        // Nor find out whether there is one.
        [
          post('/credentials', { owner_id: 'usr_01k9zq3v5hf8svx2r4c6y7n0wd' }, { as: 'user' }),
          refused('PERMISSION_DENIED'),
        ],
      ],
    },
    {
      rule: 'A bot may not name another owner',
      ask: post('/credentials', { owner_id: '{user.id}' }, { as: 'bot' }),
      answer: refused('PERMISSION_DENIED', { '/owner_id': '{user.id}' }),
      later: [[post('/api_keys', { owner_id: '{user.id}' }, { as: 'bot' }), refused('PERMISSION_DENIED')]],
    },
    mayRead('user'),
    mayRead('bot'),
    mayNot('user'),
    mayNot('bot'),
    {
      rule: 'Nobody can make themselves an admin',
      ask: patch('/users/{user.id}', { admin: true }, { as: 'user' }),
      answer: refused('PERMISSION_DENIED'),
    },
  ],
};
