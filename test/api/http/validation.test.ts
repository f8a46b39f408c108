import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { parse } from '../../../src/api/http/validation.ts';

/** The reason why each part of a value is refused, by place. */
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
  ['a number instead of a string', z.string(), 5, 'must be a string, not a number'],
  ['a string instead of a number', number, 'x', 'must be a number, not a string'],
  ['null', z.string(), null, 'must be a string, not null'],
  ['a value of another type', z.array(z.string()), 'x', 'must be an array, not a string'],
  ['an array instead of a map', z.record(z.string(), z.string()), [], 'must be an object, not an array'],
  ['a field that only the service sets', z.object({ a: z.never() }), { a: 1 }, 'is set by the service'],
  ['an infinite number', number, JSON.parse('1e400'), 'must be a finite number'],
  ['an infinite number instead of a whole one', z.int(), JSON.parse('-1e400'), 'must be a finite number'],
  ['a fraction', z.int(), 1.5, 'must be a whole number'],
  ['a whole number that is too large to be exact', z.int(), 1e20, 'must be at most 9007199254740991'],
  ['a number that is too large', number.max(5), 6, 'must be at most 5'],
  ['a number at an exclusive upper bound', number.lt(5), 5, 'must be less than 5'],
  ['a number that is too small', number.min(5), 4, 'must be at least 5'],
  ['a number at an exclusive lower bound', number.gt(5), 5, 'must be more than 5'],
  ['a number that is not a multiple', number.multipleOf(5), 4, 'must be a multiple of 5'],
  ['a string that is too long', z.string().max(2), 'abc', 'must be at most 2 characters'],
  ['a string that is too short', z.string().min(2), 'a', 'must be at least 2 characters'],
  ['an empty string', z.string().min(1), '', 'must not be empty'],
  ['a list that is too long', z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1'],
  ['a list that is too short', z.array(z.string()).min(2), ['a'], 'must have at least 2'],
  ['an empty list', z.array(z.string()).min(1), [], 'must have at least 1'],
  ['one choice', z.enum(['json']), 'xml', 'must be "json"'],
  ['two choices', z.enum(['allow', 'deny']), 'Allow', 'must be "allow" or "deny"'],
  ['three choices', z.enum(['a', 'b', 'c']), 'd', 'must be "a", "b" or "c"'],
  ['a choice of another type', z.enum(['allow', 'deny']), 5, 'must be "allow" or "deny", not a number'],
  ['a wrong choice of one of the right types', z.literal(['a', 1]), 2, 'must be "a" or 1'],
  ['a literal', z.literal(true), false, 'must be true'],
  ['a string that does not match', z.string().regex(/^a$/), 'b', 'must match ^a$'],
  ['a string of a named format', z.email(), 'b', 'must be a valid email'],
  ['a value that fits no branch', z.union([z.string(), z.boolean()]), 5, 'matches none of the allowed forms'],
  ['a bad key', z.record(z.string().max(1), z.string()), { ab: 'c' }, 'the name: must be at most 1 character'],
  ['a bad element', z.map(z.string(), z.string()), new Map([['a', 1]]), 'must be a string, not a number'],
  ['a string that is wrong in two ways', z.string().min(2).regex(/^a/), 'b', 'must be at least 2 characters'],
  ['a rule without a message', z.string().refine(() => false), 'a', 'is not valid'],
  ['a rule with a message', z.string().refine(() => false, 'must be prettier'), 'a', 'must be prettier'],
])('says in our own words what is wrong with %s', (_, schema, value, message) => {
  expect(Object.values(refusals(schema, value))).toEqual([message]);
});

test('a query parameter that is given twice is refused', () => {
  expect(refusals(z.object({ a: z.string() }), { a: ['1', '2'] }, 'query')).toEqual({
    '?a': 'must be given only once',
  });
});

test('names each parameter of a query that is wrong', () => {
  const schema = z.strictObject({ a: z.int().optional() });
  expect(refusals(schema, { a: 1.5, b: 'x' }, 'query')).toEqual({
    '?a': 'must be a whole number',
    '?b': 'unknown query parameter; known are a',
  });
});

test('names each member of a body that is wrong, or the body itself', () => {
  const schema = z.strictObject({ 'a/b': z.array(z.int()), c: z.object({ d: z.string() }) });
  expect(refusals(schema, { 'a/b': ['x'], c: { d: 'y' }, 'e~': 1 })).toEqual({
    '/a~1b/0': 'must be a number, not a string',
    '/e~0': 'unknown field',
  });
  expect(refusals(schema, { 'a/b': [1], c: 'x' })).toEqual({ '/c': 'must be an object, not a string' });
  expect(refusals(schema, [])).toEqual({ body: 'must be an object, not an array' });
  expect(refusals(z.object({ a: z.string() }), { a: ['x'] })).toEqual({ '/a': 'must be a string, not an array' });
});
