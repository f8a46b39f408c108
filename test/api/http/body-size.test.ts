import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { excessOf, sizeOf } from '../../../src/api/http/body-size.ts';
import { parseBody } from '../../../src/api/http/validation.ts';
import { NOTHING_READ_ONLY, showing } from '../../../src/resources/definition/read-only.ts';

let looks = 0;
const looked = z.string().refine(() => ++looks > 0);
const NESTED = z.strictObject({
  lists: z.array(z.array(looked).max(3)).max(2).nullable().optional(),
  maps: z.record(z.string(), looked).meta({ maxProperties: 2 }).optional(),
});

function refusal(body: unknown): unknown {
  try {
    const size = sizeOf(NESTED, NOTHING_READ_ONLY);
    parseBody({ schema: NESTED, readOnly: NOTHING_READ_ONLY, size, creates: true }, body, {});
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.details;
    throw error;
  }
}

test.each([
  [{ lists: [[], [], []] }, { '/lists': 'has 3 elements; at most 2 are allowed' }],
  [{ lists: [['a'], ['a', 'b', 'c', 'd']] }, { '/lists/1': 'has 4 elements; at most 3 are allowed' }],
  [{ maps: { a: 'a', b: 'b', c: 'c' } }, { '/maps': 'has 3 members; at most 2 are allowed' }],
])('no element of %j is looked at', (body, details) => {
  looks = 0;
  expect(refusal(body)).toEqual(details);
  expect(looks).toBe(0);
});

test('as many as are allowed are looked at', () => {
  looks = 0;
  expect(refusal({ lists: [['a'], ['a', 'b', 'c']], maps: { a: 'a', b: 'b' } })).toBeUndefined();
  expect(looks).toBe(6);
});

test.each<[string, z.ZodType]>([
  ['list', z.object({ a: z.array(z.string()) })],
  ['list inside', z.object({ a: z.array(z.object({ b: z.array(z.string()).nullable() })).max(3) })],
  ['map', z.object({ a: z.record(z.string(), z.string()).optional() })],
])('an operation that takes a %s without a largest size does not start', (_, schema) => {
  expect(() => sizeOf(schema, NOTHING_READ_ONLY)).toThrow(/without a largest/);
});

const list = (most: number) => z.array(z.string()).max(most);
const map = (most: number, each: z.ZodType = z.string()) => z.record(z.string(), each).meta({ maxProperties: most });
const shared = list(2).meta({ id: 'ListOfTheTests' });
const texts = (count: number) => Array(count).fill('x');
const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'x']));

test.each<[string, z.ZodType, taken: unknown, tooLarge: unknown, path: PropertyKey[]]>([
  ['a list', list(2), texts(2), texts(3), []],
  [
    'a list that is no first member',
    z.object({ a: list(1), b: list(2) }),
    { b: texts(2) },
    { a: [], b: texts(3) },
    ['b'],
  ],
  ['a list beside null', list(2).nullable(), texts(2), texts(3), []],
  ['the longer of two lists', z.union([list(2), list(3)]), texts(3), texts(4), []],
  ['the longer of two lists, if the first', z.union([list(3), list(2)]), texts(3), texts(4), []],
  ['the larger of two maps', z.union([map(1), map(2)]), named(2), named(3), []],
  ['a list or a map, of which the map', z.union([list(2), map(1)]), named(1), named(2), []],
  ['a list or a map, of which the list', z.union([map(1), list(2)]), texts(2), texts(3), []],
  ['lists of lists', z.array(list(2)).max(2), [[], texts(2)], [[], texts(3)], [1]],
  [
    'either of two lists of lists',
    z.union([z.array(list(1)).max(2), z.array(list(3)).max(2)]),
    [texts(3)],
    [texts(4)],
    [0],
  ],
  ['a list of lists or of nothing', z.union([z.string(), z.array(list(1)).max(2)]), [texts(1)], [texts(2)], [0]],
  ['a map of lists', map(2, list(2)), { a: [], b: texts(2) }, { a: [], b: texts(3) }, ['b']],
  [
    'a map whose form is limited',
    z.record(z.string(), z.string()).meta({ 'x-form': { maxProperties: 2 } }),
    named(2),
    named(3),
    [],
  ],
  [
    'the longer of two members of one name',
    z.union([z.object({ a: list(3) }), z.object({ a: list(1), b: list(1) })]),
    { a: texts(3), b: texts(1) },
    { a: texts(1), b: texts(2) },
    ['b'],
  ],
  ['a list under two rules', z.intersection(list(2), z.array(z.string().min(1)).max(2)), texts(2), texts(3), []],
  [
    'what one kind of several has',
    z.discriminatedUnion('is', [z.object({ is: z.literal('a') }), z.object({ is: z.literal('b'), b: list(2) })]),
    { is: 'b', b: texts(2) },
    { is: 'b', b: texts(3) },
    ['b'],
  ],
  ['a list that is read as something else', list(2).transform(String), texts(2), texts(3), []],
  ['a list that several share', z.object({ a: shared, b: shared }), { b: texts(2) }, { b: texts(3) }, ['b']],
])('%s is as large as the schema allows, and no larger', (_, schema, taken, tooLarge, path) => {
  const size = sizeOf(schema, NOTHING_READ_ONLY);
  expect(excessOf(taken, size)).toBeUndefined();
  expect(excessOf(tooLarge, size)).toMatchObject({ path });
});

test('of the longer of two members of one name, the first counts as well', () => {
  const either = z.union([z.object({ a: list(3) }), z.object({ a: list(1) })]);
  const size = sizeOf(either, NOTHING_READ_ONLY);
  expect(excessOf({ a: texts(3) }, size)).toBeUndefined();
  expect(excessOf({ a: texts(4) }, size)).toMatchObject({ path: ['a'] });
});

test('what stands for a list is as large as that, and what stands for nothing known has no size', () => {
  const members = { shown: showing('a'), other: showing('b'), id: { reason: 'is fixed' } };
  const size = sizeOf(z.object({ a: list(2) }), { members, inside: {} });
  expect(excessOf({ shown: texts(2), other: texts(9), id: texts(9) }, size)).toBeUndefined();
  expect(excessOf({ shown: texts(3) }, size)).toEqual({
    path: ['shown'],
    reason: 'has 3 elements; at most 2 are allowed',
  });
});

test('an object may have 50 members more than are known', () => {
  const size = sizeOf(z.object({ a: z.string() }), NOTHING_READ_ONLY);
  expect(excessOf(named(51), size)).toBeUndefined();
  expect(excessOf(named(52), size)).toEqual({ path: [], reason: 'has 52 members, far more than it can have' });
});

test.each([null, 'x', 5, texts(60), named(60)])('where no list or map is taken, %j has no size', (value) => {
  expect(excessOf({ a: value }, sizeOf(z.object({ a: z.string() }), NOTHING_READ_ONLY))).toBeUndefined();
});
