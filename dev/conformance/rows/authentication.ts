import { by, created, del, get, noContent, ok, patch, post, refused, type Section, type Step } from '../row.ts';

const bot = post('/bot_users', { name: 'a bot' });
const key = post('/api_keys', { owner_id: '{owner.id}' });
/** A bot with a key of its own. */
const keyed = { owner: bot, key };

const stranger = (authorization: string): Step => get('/ip_policies', { as: 'anonymous', headers: { authorization } });
const unauthenticated = { ...refused('UNAUTHENTICATED'), headers: { 'www-authenticate': 'Bearer' } };

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
      rule: 'Nobody can make themselves an admin',
      ask: patch('/users/{user.id}', { admin: true }, { as: 'user' }),
      answer: refused('PERMISSION_DENIED'),
    },
  ],
};
