import { by, get, ok, post, refused, type Section } from '../row.ts';

const path = '/whoami';
const LATER = /^[1-9]\d*$/;
const tooMany = (limit: number) => ({
  ...refused('RATE_LIMITED', { request_id: /./ }),
  headers: {
    'retry-after': LATER,
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': '0',
    'ratelimit-reset': LATER,
  },
});

const owner = { owner: post('/bot_users', { name: 'a bot' }), key: post('/api_keys', { owner_id: '{owner.id}' }) };
const times = (count: number, name: string, key: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n + 1}`, get(path, by(key))]));
const stranger = get(path, { as: 'anonymous' });
const sealed = { ...refused('UNAVAILABLE', { request_id: /./ }), headers: { 'retry-after': LATER } };

export const limits: Section = {
  title: 'Extension: limits',
  rows: [
    {
      rule: 'An API key beyond its limit is refused, and told when to try again; other keys are not',
      settings: { RATE_LIMIT: '8' },
      given: { ...owner, ...times(8, 'n', 'key') },
      ask: get(path, by('key')),
      answer: tooMany(8),
      later: [[get(path, { as: 'user' }), ok()]],
    },
    {
      rule: 'All API keys of an owner share a limit; other owners are not affected',
      settings: { RATE_LIMIT_PER_OWNER: '10' },
      given: {
        ...owner,
        second: post('/api_keys', { owner_id: '{owner.id}' }),
        ...times(6, 'n', 'key'),
        ...times(4, 'm', 'second'),
      },
      ask: get(path, by('key')),
      answer: tooMany(10),
      later: [
        [get(path, by('second')), tooMany(10)],
        [get(path, { as: 'user' }), ok()],
      ],
    },
    {
      rule: 'An address without a valid API key has a limit; a key that was valid there before keeps working',
      settings: { RATE_LIMIT_UNAUTHENTICATED: '2' },
      ask: stranger,
      answer: refused('UNAUTHENTICATED'),
      later: [
        [stranger, refused('UNAUTHENTICATED')],
        [stranger, tooMany(2)],
        [get(path), ok()],
      ],
    },
    {
      rule: 'Operations that need the encryption key are unavailable while the server lacks it; all others work',
      settings: { ENCRYPTION_KEY: '' },
      ask: post('/ssh_certificate_authorities', {}),
      answer: sealed,
      later: [
        [post('/event_destinations', { target: { webhook: { url: 'https://hooks.example.com/x' } } }), sealed],
        [get('/event_destinations'), ok({ event_destinations: [] })],
      ],
    },
  ],
};
