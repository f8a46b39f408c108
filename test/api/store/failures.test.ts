/** The meaning of errors, without a database; database-errors.test.ts has errors of PostgreSQL. */
import { describe, expect, test } from 'vitest';
import { isRetryable, transientCondition, violation } from '../../../src/api/store/database-errors.ts';

const failure = (members: object, message = 'failed') => Object.assign(new Error(message), members);
const refused = failure({ code: 'ECONNREFUSED' });

describe('a retry at once is worthwhile after', () => {
  test.each([
    ['a transaction that could not be serialised', failure({ code: '40001' }), true],
    ['the victim of a deadlock', failure({ code: '40P01' }), true],
    ['a violated constraint', failure({ code: '23505' }), false],
    ['an error without a code', failure({}), false],
    ['a value that is not an error', { code: '40001' }, false],
  ])('%s: %s', (_, error, expected) => {
    expect(isRetryable(error)).toBe(expected);
  });
});

describe('the transient condition of', () => {
  // Conditions for which a test would have to break a machine.
  test.each([
    ['53000', 'insufficient_resources'],
    ['53100', 'disk_full'],
    ['53200', 'out_of_memory'],
    ['53300', 'too_many_connections'],
    ['53400', 'configuration_limit_exceeded'],
    ['57000', 'operator_intervention'],
    ['57P02', 'crash_shutdown'],
    ['57P03', 'cannot_connect_now'],
    ['57P04', 'database_dropped'],
    ['57P05', 'idle_session_timeout'],
    ['08006', 'connection_exception'],
    ['25006', 'read_only_sql_transaction'],
    ['53999', 'insufficient_resources'],
    ['57999', 'operator_intervention'],
    ['EADDRNOTAVAIL', 'EADDRNOTAVAIL'],
    ['EAI_FAIL', 'EAI_FAIL'],
  ])('%s: %s', (code, name) => {
    expect(transientCondition(failure({ code }))).toBe(name);
  });

  test.each([
    ['a connection that broke', failure({}, 'Connection terminated unexpectedly'), 'connection_lost'],
    ['a server that does not answer', failure({}, 'Query read timeout'), 'connection_lost'],
    ['an exhausted pool', failure({}, 'timeout exceeded when trying to connect'), 'pool_exhausted'],
    ['several reasons, one transient', new AggregateError([failure({ code: '23505' }), refused]), 'ECONNREFUSED'],
    ['an aggregate without a transient reason', new AggregateError([failure({ code: '23505' })]), undefined],
    [
      'an error whose code is not transient, although its text is',
      failure({ code: '23505' }, 'timeout expired'),
      undefined,
    ],
    ['a code that is not of the database', failure({ code: 7 }, 'timeout expired'), undefined],
    ['another text', failure({}, 'division by zero'), undefined],
    ['a value that is not an error', 'timeout expired', undefined],
  ])('%s: %s', (_, error, expected) => {
    expect(transientCondition(error)).toBe(expected);
  });
});

test.each(['23505', '42P01', '22P02', 'XX000', '54000', '58030', 'ERR_ASSERTION'])(
  '%s is not a transient condition',
  (code) => {
    expect(transientCondition(failure({ code }))).toBeUndefined();
  },
);

describe('the constraint violation for', () => {
  const foreign = { code: '23503', constraint: 'things_owner_id_fkey', table: 'things' };
  test.each([
    [
      'a value that is taken',
      { code: '23505', constraint: 'things_name_key' },
      { kind: 'unique', constraint: 'things_name_key' },
    ],
    [
      'a reference to a missing row',
      { ...foreign, detail: 'Key (owner_id)=(x) is not present in table "owners".' },
      { kind: 'missing', constraint: 'things_owner_id_fkey' },
    ],
    [
      'a row that others refer to',
      { ...foreign, detail: 'Key (id)=(x) is still referenced from table "things".' },
      { kind: 'referenced', constraint: 'things_owner_id_fkey', table: 'things' },
    ],
    ['any other code', { code: '40001', constraint: 'x' }, undefined],
  ])('%s', (_, members, expected) => {
    expect(violation(failure(members))).toEqual(expected);
  });

  test('a value that is not an error', () => {
    expect(violation({ code: '23505', constraint: 'x' })).toBeUndefined();
  });
});
