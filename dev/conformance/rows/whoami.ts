import { by, get, ok, post, type Row, refTo, refused, type Section } from '../row.ts';

const path = '/whoami';
const keys = '/api_keys';
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const END = '2998-01-01T00:00:00Z';

const describes = (rule: string, at: string, type: string): Row => ({
  rule,
  given: { owner: post(at, { name: 'Ada' }), key: post(keys, { owner_id: '{owner.id}' }) },
  ask: get(path, by('key')),
  answer: ok({
    uri: `{base}${path}`,
    owner: { ...refTo(at, 'owner'), type, name: '{owner.name}' },
    admin: false,
    api_key: { ...refTo(keys, 'key'), expires_at: null },
  }),
});

export const whoami: Section = {
  title: 'Extension: who am I',
  rows: [
    describes('A user may ask who they are, and with which key', '/users', 'user'),
    describes('A bot may ask who it is, and with which key', '/bot_users', 'bot_user'),
    {
      rule: 'An admin is told that they are one',
      ask: get(path),
      answer: ok({ owner: { id: '{admin.id}', type: 'user' }, admin: true }),
    },
    {
      rule: 'The installation has an id, which every response repeats in a header',
      ask: get(path),
      answer: { ...ok({ installation_id: UUID }), headers: { 'installation-id': UUID } },
    },
    {
      rule: 'A caller is told when the key in use expires, and nothing else about it',
      given: { key: post(keys, { expires_at: END }) },
      ask: get(path, by('key')),
      answer: ok({
        owner: { id: '{admin.id}', active: undefined },
        api_key: { id: '{key.id}', expires_at: END, token: undefined, description: undefined },
      }),
      later: [[get(path, { as: 'anonymous' }), refused('UNAUTHENTICATED')]],
    },
  ],
};
