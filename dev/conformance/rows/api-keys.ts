import { apiKey } from '../../../src/resources/api-key.ts';
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

const path = '/api_keys';
const TOKEN = /^tnl_ak_[0-9A-Za-z]{43}$/;
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
      rule: 'Creating an API key returns the key itself; no later response does',
      given: { made: post(path, {}) },
      ask: post(path, {}),
      answer: created({ token: TOKEN }),
      later: [
        [get(`${path}/{made.id}`), ok({ token: null })],
        [patch(`${path}/{made.id}`, { description: 'changed' }), ok({ token: null })],
      ],
    },
    {
      rule: 'Lists of API keys never contain the keys themselves',
      given: { made: post(path, {}) },
      ask: get(`${path}?limit=1`),
      answer: ok({ api_keys: [{ id: '{made.id}', token: null }] }),
    },
    {
      rule: 'No two API keys are the same',
      given: { made: post(path, {}) },
      ask: post(path, {}),
      answer: created({ token: not('{made.token}') }),
    },
    {
      rule: 'A new API key works at once',
      given: { ...bot, key: post(path, { owner_id: '{owner.id}' }) },
      ask: get('/ip_policies?limit=1', by('key')),
      answer: ok({ uri: '{base}/ip_policies' }),
    },
    {
      rule: 'An API key belongs to its creator, unless an admin names another user or bot',
      ask: post(path, {}, { as: 'bot' }),
      answer: created({ owner_id: '{bot.id}' }),
      later: [
        [post(path, { owner_id: '{user.id}' }), created({ owner_id: '{user.id}' })],
        [post(path, { owner_id: '{bot.id}' }, { as: 'bot' }), created({ owner_id: '{bot.id}' })],
        [post(path, { owner_id: null }, { as: 'bot' }), created({ owner_id: '{bot.id}' })],
        [
          post(path, { owner_id: '{user.id}' }, { as: 'bot' }),
          refused('PERMISSION_DENIED', { '/owner_id': '{user.id}' }),
        ],
      ],
    },
    {
      rule: 'The owner of an API key must exist',
      ask: post(path, { owner_id: 'usr_01k9zq3v5hf8svx2r4c6y7n0wd' }),
      answer: invalid({ '/owner_id': /owner \w+ does not exist/ }),
    },
    {
      rule: 'Neither an API key nor its owner can be changed',
      given: { made: post(path, {}) },
      ask: patch(`${path}/{made.id}`, { owner_id: '{bot.id}', token: 'mine' }),
      answer: invalid({ '/owner_id': 'cannot be changed', '/token': 'is set by the service' }),
    },
    {
      rule: 'An API key is visible to its owner and to admins; for anyone else it does not exist',
      given: { made: post(path, {}, { as: 'user' }) },
      ask: get(`${path}/{made.id}`, { as: 'user' }),
      answer: ok({ owner_id: '{user.id}' }),
      later: [
        [get(`${path}/{made.id}`, { as: 'bot' }), refused('NOT_FOUND')],
        [patch(`${path}/{made.id}`, { expires_at: null }, { as: 'bot' }), refused('NOT_FOUND')],
        [del(`${path}/{made.id}`, { as: 'bot' }), refused('NOT_FOUND')],
        [get(`${path}/{made.id}`), ok({ owner_id: '{user.id}' })],
        [del(`${path}/{made.id}`, { as: 'user' }), noContent],
      ],
    },
    {
      rule: 'A list of API keys shows only those that the caller owns, unless the caller is an admin',
      given: { ...bot, key: post(path, { owner_id: '{owner.id}' }), other: post(path, {}) },
      ask: get(path, by('key')),
      answer: ok({ api_keys: [{ id: '{key.id}', owner_id: '{owner.id}' }], next_page_uri: null }),
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
      rule: 'The letters of a time may be in lower case',
      ask: post(path, { expires_at: '2999-01-01t00:00:00z' }),
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
      rule: 'An API key that expires makes only keys that expire no later, whoever they are for',
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
    refusedExpiry('tomorrow', 'that is no time'),
    refusedExpiry('2999-01-01', 'that is a day'),
    refusedExpiry('2999-02-30T00:00:00Z', 'there is no such day'),
    refusedExpiry('2999-01-01T00:00:00', 'that has no offset'),
    refusedExpiry('2998-12-31T23:59:60Z', 'leap seconds are not supported', /leap second/),
    refusedExpiry(5, 'that is a number', /must be a string, not a number/),
  ],
};
