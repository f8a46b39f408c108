/** Tunnel credentials, without what their rules permit (bind-rules.ts). */
import { credential } from '../../../src/resources/credential.ts';
import { del, invalid, ok, patch, post, type Row, type Section } from '../row.ts';
import { bindRules } from './bind-rules.ts';

const path = '/credentials';
const ask = (bind?: string) => post(`${path}/authenticate`, { token: '{made.token}', bind });
const NOBODY = ok({ allowed: false, credential_id: null, owner_id: null, matched_rule: null });
const inactive = {
  owner: post('/bot_users', { name: 'a bot' }),
  made: post(path, { owner_id: '{owner.id}' }),
};

const tokens: readonly Row[] = [
  {
    rule: 'A tunnel agent is identified by its authtoken',
    given: { made: post(path, { acl: ['bind:example.com'] }) },
    ask: ask(),
    answer: ok({ allowed: true, credential_id: '{made.id}', owner_id: '{admin.id}', matched_rule: null }),
  },
  {
    rule: 'An unknown authtoken is not allowed and reveals nothing',
    ask: post(`${path}/authenticate`, { token: 'tnl_cr_unknown', bind: 'example.com' }),
    answer: NOBODY,
  },
  {
    rule: 'The authtoken of a deleted credential no longer works',
    given: { made: post(path, {}), gone: del(`${path}/{made.id}`) },
    ask: ask(),
    answer: NOBODY,
  },
  {
    rule: 'The authtokens of an owner do not work while the owner is inactive',
    given: { ...inactive, off: patch('/bot_users/{owner.id}', { active: false }) },
    ask: ask(),
    answer: NOBODY,
    later: [
      [patch('/bot_users/{owner.id}', { active: true }), ok({ active: true })],
      [ask(), ok({ allowed: true, credential_id: '{made.id}', owner_id: '{owner.id}' })],
    ],
  },
  {
    rule: 'Asking about an authtoken requires one, and the target must be valid',
    ask: post(`${path}/authenticate`, {}),
    answer: invalid({ '/token': 'is required' }),
    later: [
      [post(`${path}/authenticate`, { token: 't', bind: 'a b' }), invalid({ '/bind': /white space/ })],
      [post(`${path}/authenticate`, { token: 't', bind: 'app=*' }), invalid({ '/bind': /wildcard/ })],
    ],
  },
];

export const credentials: Section = {
  title: 'Tunnel credentials',
  family: credential,
  rows: [...tokens, ...bindRules],
};
