import { user } from '../../../src/resources/user.ts';
import { by, created, del, get, invalid, noContent, ok, patch, post, refused, type Section } from '../row.ts';

// No row leaves another active admin behind, since other rows are about the only one.
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
      rule: 'A name is one line with something to see in it',
      ask: post(path, { name: ' \u00a0\u200b' }),
      answer: invalid({ '/name': 'must not be blank' }),
      later: [
        [post(path, { name: 'Ada\u001b[2K' }), invalid({ '/name': /control characters/ })],
        [post('/bot_users', { name: '\t' }), invalid({ '/name': /control characters/ })],
      ],
    },
    {
      rule: 'The API keys of a user stop working while the user is inactive',
      given: { ...made, key: post('/api_keys', { owner_id: '{made.id}' }) },
      ask: patch(`${path}/{made.id}`, { active: false }),
      answer: ok({ active: false }),
      later: [
        [get('/ip_policies', by('key')), refused('UNAUTHENTICATED')],
        [patch(`${path}/{made.id}`, { active: true }), ok({ active: true })],
        [get('/ip_policies', by('key')), ok()],
      ],
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
      rule: 'The last active admin cannot become a plain user',
      ask: patch(`${path}/{admin.id}`, { admin: false }),
      answer: last,
      later: [[patch(`${path}/{admin.id}`, { role: 'viewer' }), last]],
    },
    {
      rule: 'The role "admin" and "admin" are the same: the one follows the other',
      ask: post(path, { name: 'Ada', role: 'admin' }),
      answer: created({ admin: true, role: 'admin' }),
      given: { made: post(path, { name: 'Ada', role: 'viewer' }) },
      later: [
        [patch(`${path}/{made.id}`, { admin: true }), ok({ admin: true, role: 'admin' })],
        [patch(`${path}/{made.id}`, { admin: false }), ok({ admin: false, role: 'editor' })],
        [patch(`${path}/{made.id}`, { role: 'admin', admin: true }), ok({ admin: true, role: 'admin' })],
        [patch(`${path}/{made.id}`, { role: 'viewer' }), ok({ admin: false, role: 'viewer' })],
        [patch(`${path}/{made.id}`, { admin: false }), ok({ admin: false, role: 'viewer' })],
      ],
    },
    {
      rule: 'A role that contradicts "admin" is refused',
      given: made,
      ask: post(path, { name: 'Ada', role: 'editor', admin: true }),
      answer: invalid({ '/role': /^contradicts "admin", which is true/ }),
      later: [
        [patch(`${path}/{made.id}`, { role: 'admin', admin: false }), invalid({ '/role': /which is false/ })],
        [patch(`${path}/{made.id}`, { role: 'viewer', admin: true }), invalid({ '/role': /which is true/ })],
      ],
    },
    {
      rule: 'The role of a user shows only once it is set; null leaves it to "admin"',
      ask: post(path, { name: 'Ada', admin: true }),
      answer: created({ role: undefined }),
      given: { made: post(path, { name: 'Ada', role: 'admin' }) },
      later: [
        [patch(`${path}/{made.id}`, { role: null }), ok({ admin: true, role: undefined })],
        [patch(`${path}/{made.id}`, { admin: false }), ok({ admin: false, role: undefined })],
        [patch(`${path}/{made.id}`, { role: 'viewer' }), ok({ admin: false, role: 'viewer' })],
        [patch(`${path}/{made.id}`, { role: null }), ok({ admin: false, role: undefined })],
      ],
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
      ask: post(path, { name: 'Grace', admin: true, active: false }),
      answer: created({ admin: true, active: false }),
      later: [[patch(`${path}/{admin.id}`, { admin: false }), last]],
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
  ],
};
