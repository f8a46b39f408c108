import { expect, test } from 'vitest';
import {
  invalidByRule,
  invalidRequest,
  lateRequest,
  overloaded,
  pointerTo,
  rateLimited,
  refused,
  unauthenticated,
  unavailable,
} from '../../../src/api/errors/errors.ts';

test.each([
  ['one field', { '/cidr': 'must be a CIDR block' }, '/cidr: must be a CIDR block'],
  ['two fields', { '/cidr': 'is required', '?limit': 'is too large' }, '/cidr: is required (and 1 more, see details)'],
  ['three fields', { a: 'x', b: 'y', c: 'z' }, 'a: x (and 2 more, see details)'],
])('the message about %s names the first, and says how many more there are', (_, problems, message) => {
  expect(invalidRequest(problems)).toMatchObject({ code: 'INVALID_REQUEST', message, details: problems });
});

test('an error may carry headers', () => {
  expect(rateLimited(7)).toMatchObject({ code: 'RATE_LIMITED', headers: { 'retry-after': '7' } });
  expect(unauthenticated('no')).toMatchObject({ headers: { 'www-authenticate': 'Bearer' } });
});

test.each([
  ['unavailable', unavailable('no database')],
  ['overloaded', overloaded('too much')],
  ['late', lateRequest()],
])('a temporary error says when to retry: %s', (_, error) => {
  expect(error).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
});

test('a refusal that repeats the request has a separate wording for the log', () => {
  const error = refused({ '/a': { reason: 'is x, not y', fixed: 'is not y' }, '/b': { reason: 'is required' } });
  expect(error.details).toEqual({ '/a': 'is x, not y', '/b': 'is required' });
  expect(error.fixed).toEqual({ '/a': 'is not y', '/b': 'is required' });
  expect(invalidByRule({ '/c': 'is required' }).fixed).toEqual({ '/c': 'is required' });
  expect(invalidRequest({ '/c': 'is x' }).fixed).toEqual({});
});

test.each([
  [['rules', 0, 'cidr'], '/rules/0/cidr'],
  [['labels', 'a/b~c'], '/labels/a~1b~0c'],
  [['x'.repeat(128)], `/${'x'.repeat(128)}`],
  [['~'.repeat(1_000_000)], `/${'~0'.repeat(128)}…`],
])('the pointer to %j', (path, pointer) => {
  expect(pointerTo(path)).toBe(pointer);
});
