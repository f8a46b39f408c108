import { botUser } from '../../../src/resources/bot-user.ts';
import { by, created, del, get, invalid, noContent, ok, patch, post, refused, type Section } from '../row.ts';

const path = '/bot_users';
const made = { made: post(path, { name: 'a bot' }) };
/** A bot with an API key and an authtoken. */
const equipped = {
  ...made,
  key: post('/api_keys', { owner_id: '{made.id}' }),
  credential: post('/credentials', { owner_id: '{made.id}' }),
};
const agent = post('/credentials/authenticate', { token: '{credential.token}' });
const allowed = ok({ allowed: true, credential_id: '{credential.id}', owner_id: '{made.id}' });
const turned = (active: boolean) => patch(`${path}/{made.id}`, { active });

export const botUsers: Section = {
  title: 'Bot users',
  family: botUser,
  rows: [
    {
      rule: 'The API keys of a bot stop working when it becomes inactive, and work again when it is active',
      given: { ...equipped, before: get('/ip_policies', by('key')) },
      ask: turned(false),
      answer: ok({ active: false }),
      later: [
        [get('/ip_policies', by('key')), refused('UNAUTHENTICATED')],
        [turned(true), ok({ active: true })],
        [get('/ip_policies', by('key')), ok()],
      ],
    },
    {
      rule: 'The authtokens of a bot stop working when it becomes inactive, and work again when it is active',
      given: { ...equipped, before: agent },
      ask: turned(false),
      answer: ok({ active: false }),
      later: [
        [agent, ok({ allowed: false, credential_id: null, owner_id: null, matched_rule: null })],
        [turned(true), ok({ active: true })],
        [agent, allowed],
      ],
    },
    {
      rule: 'The "active" of a bot is true or false; null in a create means true',
      given: made,
      ask: post(path, { name: 'a bot', active: 'yes' }),
      answer: invalid({ '/active': 'must be a boolean, not a string' }),
      later: [
        [post(path, { name: 'a bot', active: null }), created({ active: true })],
        [post(path, { name: 'a bot', active: false }), created({ active: false })],
        [patch(`${path}/{made.id}`, { active: null }), invalid({ '/active': 'must be a boolean, not null' })],
      ],
    },
    {
      rule: 'A bot is never an admin',
      given: made,
      ask: post(path, { name: 'a bot', admin: true }),
      answer: invalid({ '/admin': 'unknown field' }),
      later: [
        [patch(`${path}/{made.id}`, { admin: true }), invalid({ '/admin': 'unknown field' })],
        [post(path, { name: 'a bot', role: 'admin' }), invalid({ '/role': 'must be "editor" or "viewer"' })],
      ],
    },
    {
      rule: 'The role of a bot shows only once it is set; null takes it back',
      ask: post(path, { name: 'a bot' }),
      answer: created({ role: undefined }),
      given: { made: post(path, { name: 'a bot', role: 'viewer' }) },
      later: [
        [get(`${path}/{made.id}`), ok({ role: 'viewer' })],
        [patch(`${path}/{made.id}`, { name: 'renamed' }), ok({ role: 'viewer' })],
        [patch(`${path}/{made.id}`, { role: null }), ok({ role: undefined })],
        [patch(`${path}/{made.id}`, { role: '' }), ok({ role: undefined })],
      ],
    },
    {
      rule: 'A bot that owns credentials or API keys cannot be deleted; the error names them',
      given: equipped,
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
