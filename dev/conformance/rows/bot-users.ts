import { botUser } from '../../../src/resources/bot-user.ts';
import { longest } from '../description-rows.ts';
import {
  by,
  created,
  del,
  get,
  idOf,
  invalid,
  noContent,
  ok,
  patch,
  post,
  type Row,
  refused,
  type Section,
} from '../row.ts';

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

const onlyForAdmins = (as: 'user' | 'bot'): Row => ({
  rule: `A ${as} may not manage bots`,
  given: made,
  ask: get(`${path}/{made.id}`, { as }),
  answer: refused('PERMISSION_DENIED'),
  later: [
    [get(path, { as }), refused('PERMISSION_DENIED')],
    [post(path, { name: 'x' }, { as }), refused('PERMISSION_DENIED')],
    [patch(`${path}/{made.id}`, { name: 'x' }, { as }), refused('PERMISSION_DENIED')],
    [del(`${path}/{made.id}`, { as }), refused('PERMISSION_DENIED')],
  ],
});

export const botUsers: Section = {
  title: 'Bot users',
  family: botUser,
  rows: [
    {
      rule: 'A bot is returned with its name',
      given: { made: post(path, { name: 'deploys – Berlin' }) },
      ask: get(`${path}/{made.id}`),
      answer: ok({ name: 'deploys – Berlin', active: true }),
    },
    {
      rule: 'A bot is active by default',
      ask: post(path, { name: 'a bot' }),
      answer: created({ active: true }),
    },
    {
      rule: 'A bot may be created active or inactive',
      ask: post(path, { name: 'a bot', active: false }),
      answer: created({ active: false }),
      later: [[post(path, { name: 'a bot', active: true }), created({ active: true })]],
    },
    {
      rule: 'A bot can be made inactive, which changes nothing else',
      given: made,
      ask: turned(false),
      answer: ok({
        id: '{made.id}',
        uri: '{made.uri}',
        name: 'a bot',
        active: false,
        created_at: '{made.created_at}',
      }),
    },
    {
      rule: 'A bot can be made active again, which changes nothing else',
      given: { made: post(path, { name: 'a bot', active: false }) },
      ask: turned(true),
      answer: ok({ id: '{made.id}', uri: '{made.uri}', name: 'a bot', active: true, created_at: '{made.created_at}' }),
    },
    {
      rule: 'Renaming a bot does not change whether it is active',
      given: { made: post(path, { name: 'a bot', active: false }) },
      ask: patch(`${path}/{made.id}`, { name: 'renamed' }),
      answer: ok({ name: 'renamed', active: false }),
    },
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
      rule: 'The name of a bot has 1 to 255 bytes',
      ask: post(path, { name: longest(255, 'bytes') }),
      answer: created({ name: longest(255, 'bytes') }),
      later: [
        [post(path, { name: `${longest(255, 'bytes')}x` }), invalid({ '/name': /255 bytes/ })],
        [post(path, { name: '' }), invalid({ '/name': /empty/ })],
      ],
    },
    {
      rule: 'An update may neither empty nor remove the name of a bot',
      given: made,
      ask: patch(`${path}/{made.id}`, { name: '' }),
      answer: invalid({ '/name': /empty/ }),
      later: [[patch(`${path}/{made.id}`, { name: null }), invalid({ '/name': /must be a string/ })]],
    },
    {
      rule: 'Whether a bot is active must be true or false, and is true in a create that has null',
      given: made,
      ask: post(path, { name: 'a bot', active: 'yes' }),
      answer: invalid({ '/active': 'must be a boolean, not a string' }),
      later: [
        [post(path, { name: 'a bot', active: null }), created({ active: true })],
        [patch(`${path}/{made.id}`, { active: null }), invalid({ '/active': 'must be a boolean, not null' })],
      ],
    },
    {
      rule: 'Two bots may have the same name',
      given: made,
      ask: post(path, { name: 'a bot' }),
      answer: created({ id: idOf('bot'), name: 'a bot' }),
    },
    {
      rule: 'A bot is never an admin',
      given: made,
      ask: post(path, { name: 'a bot', admin: true }),
      answer: invalid({ '/admin': 'unknown field' }),
      later: [[patch(`${path}/{made.id}`, { admin: true }), invalid({ '/admin': 'unknown field' })]],
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
    {
      rule: 'If a bot owns many credentials or keys, the error names the five newest',
      given: {
        ...made,
        ...Object.fromEntries(
          ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, post('/credentials', { owner_id: '{made.id}' })]),
        ),
      },
      ask: del(`${path}/{made.id}`),
      answer: refused('RESOURCE_IN_USE', { credentials: /^{f.id}, {e.id}, {d.id}, {c.id}, {b.id}, …$/ }),
    },
    onlyForAdmins('user'),
    onlyForAdmins('bot'),
  ],
};
