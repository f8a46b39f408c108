import { user } from '../../../src/resources/user.ts';
import { longest } from '../description-rows.ts';
import { by, created, del, get, invalid, noContent, ok, patch, post, refused, type Section } from '../row.ts';

// Rows that make another admin take care that there is none afterwards: others are about the only one.
const path = '/users';
const made = { made: post(path, { name: 'Ada' }) };
const second = {
  second: post(path, { name: 'Grace', admin: true }),
  key: post('/api_keys', { owner_id: '{second.id}' }),
};
const demoted = [patch(`${path}/{second.id}`, { admin: false }), ok({ admin: false })] as const;
const last = refused('CONFLICT', { id: '{admin.id}' });

export const users: Section = {
  title: 'Extension: users',
  family: user,
  rows: [
    {
      rule: 'By default a user is active and not an admin',
      ask: post(path, { name: 'Ada' }),
      answer: created({ name: 'Ada', admin: false, active: true }),
    },
    {
      rule: 'A user may be created as an admin, and inactive',
      ask: post(path, { name: 'Grace', admin: true, active: false }),
      answer: created({ admin: true, active: false }),
    },
    {
      rule: 'A create may state explicitly that a user is active and not an admin',
      ask: post(path, { name: 'Ada', admin: false, active: true }),
      answer: created({ admin: false, active: true }),
    },
    {
      rule: 'A user can become an admin and a plain user again, effective from the next request',
      given: { ...made, key: post('/api_keys', { owner_id: '{made.id}' }) },
      ask: patch(`${path}/{made.id}`, { admin: true }),
      answer: ok({ admin: true, active: true }),
      later: [
        [get(path, by('key')), ok({ uri: `{base}${path}` })],
        [patch(`${path}/{made.id}`, { admin: false }), ok({ admin: false })],
        [get(path, by('key')), refused('PERMISSION_DENIED')],
      ],
    },
    {
      rule: 'The API keys of a user stop working while the user is inactive',
      given: { ...made, key: post('/api_keys', { owner_id: '{made.id}' }), before: get('/ip_policies', by('key')) },
      ask: patch(`${path}/{made.id}`, { active: false }),
      answer: ok({ active: false }),
      later: [
        [get('/ip_policies', by('key')), refused('UNAUTHENTICATED')],
        [patch(`${path}/{made.id}`, { active: true }), ok({ active: true })],
        [get('/ip_policies', by('key')), ok()],
      ],
    },
    {
      rule: 'The name of a user has 1 to 255 bytes',
      ask: post(path, { name: longest(255, 'bytes') }),
      answer: created({ name: longest(255, 'bytes') }),
      later: [
        [post(path, { name: `${longest(255, 'bytes')}x` }), invalid({ '/name': /255 bytes/ })],
        [post(path, { name: '' }), invalid({ '/name': /empty/ })],
      ],
    },
    {
      rule: 'The last active admin cannot become a plain user',
      ask: patch(`${path}/{admin.id}`, { admin: false }),
      answer: last,
    },
    {
      rule: 'The last active admin cannot become inactive',
      ask: patch(`${path}/{admin.id}`, { active: false }),
      answer: last,
    },
    {
      rule: 'The last active admin cannot be deleted',
      ask: del(`${path}/{admin.id}`),
      answer: last,
    },
    {
      rule: 'An inactive admin does not count as another active admin',
      given: { inactive: post(path, { name: 'Grace', admin: true, active: false }) },
      ask: patch(`${path}/{admin.id}`, { admin: false }),
      answer: last,
    },
    {
      rule: 'The last active admin may be changed in other ways',
      ask: patch(`${path}/{admin.id}`, { name: 'Ada' }),
      answer: ok({ name: 'Ada', admin: true, active: true }),
    },
    {
      rule: 'An admin may become a plain user if there is another active admin',
      given: second,
      ask: patch(`${path}/{admin.id}`, { admin: false }, by('key')),
      answer: ok({ admin: false }),
      later: [[patch(`${path}/{admin.id}`, { admin: true }, by('key')), ok({ admin: true })], demoted],
    },
    {
      rule: 'A user who owns credentials or API keys cannot be deleted; the error names them',
      given: {
        ...made,
        key: post('/api_keys', { owner_id: '{made.id}' }),
        credential: post('/credentials', { owner_id: '{made.id}' }),
      },
      ask: del(`${path}/{made.id}`),
      answer: refused('RESOURCE_IN_USE', { credentials: '{credential.id}', api_keys: '{key.id}' }),
      later: [
        [del('/credentials/{credential.id}'), noContent],
        [del('/api_keys/{key.id}'), noContent],
        [del(`${path}/{made.id}`), noContent],
      ],
    },
    {
      rule: 'Only admins may manage users',
      given: made,
      ask: get(`${path}/{made.id}`, { as: 'user' }),
      answer: refused('PERMISSION_DENIED'),
      later: [
        [patch(`${path}/{made.id}`, { name: 'x' }, { as: 'user' }), refused('PERMISSION_DENIED')],
        [del(`${path}/{made.id}`, { as: 'bot' }), refused('PERMISSION_DENIED')],
        [post(path, { name: 'x' }, { as: 'bot' }), refused('PERMISSION_DENIED')],
      ],
    },
  ],
};
