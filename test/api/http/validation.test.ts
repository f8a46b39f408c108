import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { parse } from '../../../src/api/http/validation.ts';

/** What each place of a value is refused for. */
function refusals(schema: z.ZodType, value: unknown, place: 'body' | 'query' = 'body'): Record<string, string> {
  try {
    parse(schema, value, place);
  } catch (error) {
    if (error instanceof ApiError) return error.details;
    throw error;
  }
  return {};
}

const number = z.number();

test.each<[string, z.ZodType, unknown, string]>([
  ['a missing value', z.object({ a: z.string() }), {}, 'is required'],
  ['a missing choice', z.object({ a: z.enum(['x']) }), {}, 'is required'],
  ['a number where a text is', z.string(), 5, 'must be a string, not a number'],
  ['a text where a number is', number, 'x', 'must be a number, not a string'],
  ['null', z.string(), null, 'must be a string, not null'],
  ['another type', z.array(z.string()), 'x', 'must be an array, not a string'],
  ['a map that is none', z.record(z.string(), z.string()), [], 'must be an object, not an array'],
  ['what only the service sets', z.object({ a: z.never() }), { a: 1 }, 'is set by the service'],
  ['a number without end', number, JSON.parse('1e400'), 'must be a finite number'],
  ['a number without end where whole ones are', z.int(), JSON.parse('-1e400'), 'must be a finite number'],
  ['a fraction', z.int(), 1.5, 'must be a whole number'],
  ['a whole number that is too large to be exact', z.int(), 1e20, 'must be at most 9007199254740991'],
  ['a number that is too large', number.max(5), 6, 'must be at most 5'],
  ['a number at a bound that is not in', number.lt(5), 5, 'must be less than 5'],
  ['a number that is too small', number.min(5), 4, 'must be at least 5'],
  ['a number at a lower bound that is not in', number.gt(5), 5, 'must be more than 5'],
  ['a number between two steps', number.multipleOf(5), 4, 'must be a multiple of 5'],
  ['a text that is too long', z.string().max(2), 'abc', 'must be at most 2 characters'],
  ['a text that is too short', z.string().min(2), 'a', 'must be at least 2 characters'],
  ['an empty text', z.string().min(1), '', 'must not be empty'],
  ['a list that is too long', z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1'],
  ['a list that is too short', z.array(z.string()).min(2), ['a'], 'must have at least 2'],
  ['an empty list', z.array(z.string()).min(1), [], 'must have at least 1'],
  ['one choice', z.enum(['json']), 'xml', 'must be "json"'],
  ['two choices', z.enum(['allow', 'deny']), 'Allow', 'must be "allow" or "deny"'],
  ['three choices', z.enum(['a', 'b', 'c']), 'd', 'must be "a", "b" or "c"'],
  ['a choice of another type', z.enum(['allow', 'deny']), 5, 'must be "allow" or "deny", not a number'],
  ['a choice of one of the types', z.literal(['a', 1]), 2, 'must be "a" or 1'],
  ['a literal', z.literal(true), false, 'must be true'],
  ['a text of another form', z.string().regex(/^a$/), 'b', 'must match ^a$'],
  ['a text of a named form', z.email(), 'b', 'must be a valid email'],
  ['no branch', z.union([z.string(), z.boolean()]), 5, 'matches none of the allowed forms'],
  ['a bad key', z.record(z.string().max(1), z.string()), { ab: 'c' }, 'the name: must be at most 1 character'],
  ['a bad element', z.map(z.string(), z.string()), new Map([['a', 1]]), 'must be a string, not a number'],
  ['what is wrong in two ways', z.string().min(2).regex(/^a/), 'b', 'must be at least 2 characters'],
  ['a rule without words', z.string().refine(() => false), 'a', 'is not valid'],
  ['a rule with words', z.string().refine(() => false, 'must be prettier'), 'a', 'must be prettier'],
])('says in our words what is wrong with %s', (_, schema, value, message) => {
  expect(Object.values(refusals(schema, value))).toEqual([message]);
});

test('a parameter that a query has twice must be given once', () => {
  expect(refusals(z.object({ a: z.string() }), { a: ['1', '2'] }, 'query')).toEqual({
    '?a': 'must be given only once',
  });
});

test('of what a query has wrong, names the parameter', () => {
  const schema = z.strictObject({ a: z.int().optional() });
  expect(refusals(schema, { a: 1.5, b: 'x' }, 'query')).toEqual({
    '?a': 'must be a whole number',
    '?b': 'unknown query parameter',
  });
});

test('of what a body has wrong, names the member, and the body where it is all of it', () => {
  const schema = z.strictObject({ 'a/b': z.array(z.int()), c: z.object({ d: z.string() }) });
  expect(refusals(schema, { 'a/b': ['x'], c: { d: 'y' }, 'e~': 1 })).toEqual({
    '/a~1b/0': 'must be a number, not a string',
    '/e~0': 'unknown field',
  });
  expect(refusals(schema, { 'a/b': [1], c: 'x' })).toEqual({ '/c': 'must be an object, not a string' });
  expect(refusals(schema, [])).toEqual({ body: 'must be an object, not an array' });
  expect(refusals(z.object({ a: z.string() }), { a: ['x'] })).toEqual({ '/a': 'must be a string, not an array' });
});
