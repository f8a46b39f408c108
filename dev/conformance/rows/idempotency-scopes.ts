import { idempotencyDigest } from '../../../src/resources/definition/idempotency.ts';
import { created, del, get, invalid, ok, post, put, type Row, refused, type Section, type Step } from '../row.ts';

const place = (scope: string, sequence: string, key = `${scope}-${sequence}`) => ({
  headers: { 'idempotency-key': key, 'idempotency-scope': scope, 'idempotency-sequence': sequence },
});
const policy = (...args: Parameters<typeof place>): Step => post('/ip_policies', {}, place(...args));
const pathOf = (scope: string) => `/idempotency_scopes/${idempotencyDigest(scope)}`;
const reading = (scope: string): Step => get(pathOf(scope));
const closing = (scope: string): Step => put(`${pathOf(scope)}/closed`);
const entry = (name: string, sequence: number) => ({ id: `{${name}.id}`, uri: `{${name}.uri}`, sequence });
const closed = refused('CONFLICT', { idempotency_scope: 'closed' });
const outOfSequence = (next: number) =>
  refused('CONFLICT', { idempotency_scope: 'out_of_sequence', next_sequence: String(next) });

const incomplete = (rule: string, headers: Readonly<Record<string, string>>, named: string): Row => ({
  rule,
  ask: post('/ip_policies', {}, { headers }),
  answer: invalid({ [named]: /is required with an/ }),
});

export const idempotencyScopes: Section = {
  title: 'Extension: idempotency scopes',
  rows: [
    {
      rule: 'A scope names everything that was created in it and still exists, newest first',
      given: { first: policy('all', '1'), second: policy('all', '2') },
      ask: reading('all'),
      answer: ok({ next_sequence: 3, resources: [entry('second', 2), entry('first', 1)] }),
      later: [
        [del('/ip_policies/{second.id}'), { status: 204 }],
        [reading('all'), ok({ next_sequence: 3, resources: [entry('first', 1)] })],
      ],
    },
    {
      rule: 'The creates of a scope are numbered without gaps',
      given: { made: policy('gaps', '1') },
      ask: policy('gaps', '3'),
      answer: outOfSequence(2),
      later: [[policy('gaps', '2'), created({ description: null })]],
    },
    {
      rule: 'A number stays used when the resource it created is deleted',
      given: { made: policy('used-up', '1'), gone: del('/ip_policies/{made.id}') },
      ask: policy('used-up', '1'),
      answer: outOfSequence(2),
    },
    {
      rule: 'A scope belongs to one user or bot',
      given: { made: policy('alone', '1') },
      ask: { ...policy('alone', '1'), as: 'user' },
      answer: created({ description: null }),
      later: [[reading('alone'), ok({ next_sequence: 2, resources: [entry('made', 1)] })]],
    },
    {
      rule: 'Closing a scope that was never used refuses what may be in flight',
      ask: closing('closed first'),
      answer: ok({ next_sequence: 2, resources: [] }),
    },
    {
      rule: 'Closing a scope names what was created in it and still exists',
      given: { made: policy('closed', '1') },
      ask: closing('closed'),
      answer: ok({ next_sequence: 3, resources: [entry('made', 1)] }),
    },
    {
      rule: 'Closing a scope refuses all creates that have begun, and the one that may be in flight',
      given: { made: policy('closed-twice', '1'), closed: closing('closed-twice') },
      ask: policy('closed-twice', '2'),
      answer: closed,
      later: [
        [policy('closed-twice', '1'), refused('CONFLICT', { idempotency_key: 'closed', resource_id: '{made.id}' })],
        [policy('closed-twice', '3'), created({ description: null })],
      ],
    },
    incomplete(
      'A scope needs a key',
      { 'idempotency-scope': 'incomplete', 'idempotency-sequence': '1' },
      'Idempotency-Key',
    ),
    incomplete(
      'A scope needs a sequence number',
      { 'idempotency-key': 'incomplete', 'idempotency-scope': 'incomplete' },
      'Idempotency-Sequence',
    ),
    incomplete(
      'A sequence number needs a scope',
      { 'idempotency-key': 'incomplete', 'idempotency-sequence': '1' },
      'Idempotency-Scope',
    ),
    {
      rule: 'A sequence number is a whole number from 1 to 999999999',
      ask: policy('numbers', '0'),
      answer: invalid({ 'Idempotency-Sequence': /whole number from 1/ }),
      later: [[policy('numbers', '1000000000'), invalid({ 'Idempotency-Sequence': /to 999999999/ })]],
    },
    {
      rule: 'The name of a scope has 1 to 255 printable ASCII characters',
      ask: policy('two words', '1', 'a-key'),
      answer: invalid({ 'Idempotency-Scope': /1 to 255 printable ASCII/ }),
    },
  ],
};
