import { idempotencyDigest } from '../../../src/resources/definition/idempotency.ts';
import {
  created,
  del,
  get,
  invalid,
  not,
  ok,
  patch,
  post,
  put,
  type Row,
  refused,
  type Section,
  type Step,
} from '../row.ts';

type Body = Readonly<Record<string, unknown>>;

const under = (key: string) => ({ headers: { 'idempotency-key': key } });
const policy = (key: string, body: Body = {}): Step => post('/ip_policies', body, under(key));
const closing = (key: string): Step => put(`/idempotency_keys/${idempotencyDigest(key)}/closed`);
const replay = (body: Body) => ({ ...created(body), headers: { 'idempotency-replayed': 'true' } });
const nothing = ok({ closed: true, resource: null });

/** A bot with two API keys; the first of them creates. */
const owner = {
  owner: post('/bot_users', { name: 'a bot' }),
  key: post('/api_keys', { owner_id: '{owner.id}' }),
  second: post('/api_keys', { owner_id: '{owner.id}' }),
};
const ofBot = (key: string): Step => ({
  ...post('/credentials', {}),
  as: 'anonymous',
  headers: { authorization: `Bearer {${key}.token}`, 'idempotency-key': 'token-{unique}' },
});

const refusedKey = (rule: string, key: string): Row => ({
  rule,
  ask: policy(key),
  answer: invalid({ 'Idempotency-Key': /1 to 255 printable ASCII/ }),
});

const rule = { ip_policy_id: '{policy.id}', cidr: '10.0.0.0/8', action: 'allow' };

export const idempotencyKeys: Section = {
  title: 'Extension: idempotency keys',
  rows: [
    {
      rule: 'The same request under the same key gets the same response, marked as a replay',
      given: { made: policy('same-{unique}', { description: 'a', metadata: 'b' }) },
      ask: policy('same-{unique}', { metadata: 'b', description: 'a' }),
      answer: {
        ...created({
          id: '{made.id}',
          uri: '{made.uri}',
          created_at: '{made.created_at}',
          description: 'a',
          metadata: 'b',
        }),
        headers: { 'idempotency-replayed': 'true', location: '{made.uri}', etag: '"1"' },
      },
    },
    {
      rule: 'A different body under the same key is refused; the error names what the key created',
      given: { made: policy('body-{unique}', { description: 'a' }) },
      ask: policy('body-{unique}', { description: 'b' }),
      answer: refused('IDEMPOTENCY_KEY_REUSED', { resource_id: '{made.id}' }),
    },
    {
      rule: 'A key belongs to one user or bot',
      given: { made: policy('alone-{unique}') },
      ask: { ...policy('alone-{unique}'), as: 'user' },
      answer: created({ id: not('{made.id}') }),
    },
    {
      rule: 'A replay is the first answer, although the resource has changed since',
      given: {
        made: policy('changed-{unique}', { description: 'a' }),
        changed: patch('/ip_policies/{made.id}', { description: 'b' }),
      },
      ask: policy('changed-{unique}', { description: 'a' }),
      answer: replay({ id: '{made.id}', description: 'a' }),
    },
    {
      rule: 'A key is free again once the resource it created is deleted',
      given: { made: policy('free-{unique}'), gone: del('/ip_policies/{made.id}') },
      ask: policy('free-{unique}'),
      answer: created({ id: not('{made.id}') }),
    },
    {
      rule: 'A create that fails leaves its key free',
      given: { policy: post('/ip_policies', {}), made: post('/ip_policy_rules', rule) },
      ask: post('/ip_policy_rules', rule, under('failed-{unique}')),
      answer: refused('CONFLICT'),
      later: [
        [
          post('/ip_policy_rules', { ...rule, cidr: '10.1.0.0/16' }, under('failed-{unique}')),
          created({ cidr: '10.1.0.0/16' }),
        ],
      ],
    },
    {
      rule: 'A replay to the same API key includes the one-time token',
      given: { ...owner, made: ofBot('key') },
      ask: ofBot('key'),
      answer: replay({ id: '{made.id}', token: '{made.token}' }),
    },
    {
      rule: 'A replay to another API key of the same owner has no token',
      given: { ...owner, made: ofBot('key') },
      ask: ofBot('second'),
      answer: replay({ id: '{made.id}', token: null }),
    },
    refusedKey('A key may not have 256 characters', 'k'.repeat(256)),
    {
      rule: 'A request that creates nothing ignores the key',
      given: { made: post('/ip_policies', {}) },
      ask: patch('/ip_policies/{made.id}', { description: 'a' }, under('patch-{unique}')),
      answer: ok({ description: 'a' }),
      later: [
        [patch('/ip_policies/{made.id}', { description: 'b' }, under('patch-{unique}')), ok({ description: 'b' })],
      ],
    },
    {
      rule: 'Closing an unused key reports that nothing was created, and prevents later creates under it',
      ask: closing('never used'),
      answer: nothing,
      later: [[closing('never used'), nothing]],
    },
    {
      rule: 'Closing a key names what was created under it and still exists',
      given: { made: policy('closed-later') },
      ask: closing('closed-later'),
      answer: ok({ closed: true, resource: { id: '{made.id}', uri: '{made.uri}' } }),
      later: [
        [closing('closed-later'), ok({ closed: true, resource: { id: '{made.id}', uri: '{made.uri}' } })],
        [policy('closed-later'), refused('CONFLICT', { idempotency_key: 'closed', resource_id: '{made.id}' })],
        [get('/ip_policies/{made.id}'), ok({ id: '{made.id}' })],
      ],
    },
    {
      rule: 'Closing a key closes it only for the caller',
      given: { closed: closing('closed-by-one') },
      ask: { ...policy('closed-by-one'), as: 'user' },
      answer: created({ description: null }),
    },
  ],
};
