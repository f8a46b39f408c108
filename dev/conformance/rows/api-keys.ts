import { apiKey } from '../../../src/resources/api-key.ts';
import { by, created, get, invalid, ok, patch, post, type Row, refused, type Section } from '../row.ts';

const path = '/api_keys';
const bot = { owner: post('/bot_users', { name: 'a bot' }) };
const FAR = '2999-01-01T00:00:00Z';
const END = '2998-01-01T00:00:00Z';
const ending = { key: post(path, { expires_at: END }) };
const tooLate = invalid({ '/expires_at': `must be at most ${END}, when the API key in use expires` });

const refusedExpiry = (expires_at: unknown, why: string, message = /as in 2026-11-21T10:00:00Z/): Row => ({
  rule: `${JSON.stringify(expires_at)} is refused as the expiry of an API key: ${why}`,
  given: { made: post(path, {}) },
  ask: post(path, { expires_at }),
  answer: invalid({ '/expires_at': message }),
  later: [[patch(`${path}/{made.id}`, { expires_at }), invalid({ '/expires_at': message })]],
});

export const apiKeys: Section = {
  title: 'Extension: API keys',
  family: apiKey,
  rows: [
    {
      rule: 'A new API key works at once',
      given: { ...bot, key: post(path, { owner_id: '{owner.id}' }) },
      ask: get('/ip_policies?limit=1', by('key')),
      answer: ok({ uri: '{base}/ip_policies' }),
    },
    {
      rule: 'An API key shows its first characters, and not when it was last used before it is used',
      ask: post(path, {}),
      answer: created({ token_prefix: /^tnl_ak_\w{4}$/, last_used_at: null }),
    },
    {
      rule: 'An API key does not expire by default',
      ask: post(path, {}),
      answer: created({ expires_at: null }),
    },
    {
      rule: 'A time may be given with any offset, and is shown in UTC',
      ask: post(path, { expires_at: '2999-01-01T01:00:00+01:00' }),
      answer: created({ expires_at: FAR }),
    },
    {
      rule: 'The expiry of an API key can be changed, even to the past, and removed',
      given: { ...bot, key: post(path, { owner_id: '{owner.id}', expires_at: FAR }) },
      ask: patch(`${path}/{key.id}`, { expires_at: '2001-01-01T00:00:00Z' }),
      answer: ok({ expires_at: '2001-01-01T00:00:00Z' }),
      later: [
        [get('/ip_policies', by('key')), refused('UNAUTHENTICATED')],
        [patch(`${path}/{key.id}`, { expires_at: null }), ok({ expires_at: null })],
        [get('/ip_policies', by('key')), ok()],
      ],
    },
    {
      rule: 'An API key that expires creates only keys that expire no later, for any owner',
      given: ending,
      ask: post(path, { expires_at: END }, by('key')),
      answer: created({ owner_id: '{admin.id}', expires_at: END }),
      later: [
        [post(path, {}, by('key')), tooLate],
        [post(path, { expires_at: null }, by('key')), tooLate],
        [post(path, { expires_at: FAR, owner_id: '{user.id}' }, by('key')), tooLate],
      ],
    },
    {
      rule: 'An API key that expires extends neither itself nor another beyond its own expiry',
      given: { ...ending, other: post(path, { expires_at: END }) },
      ask: patch(`${path}/{key.id}`, { expires_at: null }, by('key')),
      answer: tooLate,
      later: [
        [patch(`${path}/{other.id}`, { expires_at: FAR }, by('key')), tooLate],
        [patch(`${path}/{other.id}`, { expires_at: '2001-01-01T00:00:00Z' }, by('key')), ok()],
        [patch(`${path}/{other.id}`, { expires_at: END }, by('key')), ok({ expires_at: END })],
        [get(`${path}/{key.id}`), ok({ expires_at: END })],
      ],
    },
    refusedExpiry('tomorrow', 'it is not a time'),
    refusedExpiry('2999-01-01T00:00:00', 'it has no offset'),
    refusedExpiry('2998-12-31T23:59:60Z', 'leap seconds are not supported', /leap second/),
  ],
};
