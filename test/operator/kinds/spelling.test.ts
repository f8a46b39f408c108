/** Names of members: camelCase in specs and statuses, snake_case in the API. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { inSnakeCase, statusValueOf, withCamelCase } from '../../../src/operator/kinds/spelling.ts';

const nested = z.object({
  first_name: z.string(),
  home_address: z.object({ zip_code: z.string().nullable() }).nullable().optional(),
  labels_by_name: z.record(z.string(), z.string()),
});

const inSpec = { firstName: 'a', homeAddress: { zipCode: '1' }, labelsByName: { a_b: 'c' } };
const inApi = { first_name: 'a', home_address: { zip_code: '1' }, labels_by_name: { a_b: 'c' } };

describe('a value of a spec', () => {
  test.each<[string, z.ZodType, unknown, unknown]>([
    ['has its members in snake_case, but not the keys of its maps', nested, inSpec, inApi],
    ['drops undefined members', nested, { firstName: undefined, homeAddress: null }, { home_address: null }],
    ['keeps members that the schema does not know', nested, { otherName: 'a' }, { otherName: 'a' }],
    ['may be null', nested.nullable(), null, null],
    ['stays a list', nested, [{ firstName: 'a' }], [{ firstName: 'a' }]],
    ['stays a text', nested, 'firstName', 'firstName'],
    ['is read by the schema before a transform', nested.transform(() => 1), { firstName: 'a' }, { first_name: 'a' }],
  ])('%s', (_, schema, value, expected) => {
    expect(inSnakeCase(schema, value)).toEqual(expected);
  });
});

describe('a value of a response', () => {
  test.each<[string, z.ZodType, unknown, unknown]>([
    ['has its members in camelCase, but not the keys of its maps', nested, inApi, inSpec],
    ['drops null members', nested, { home_address: { zip_code: null } }, { homeAddress: {} }],
    ['is undefined if it is null', nested.nullable(), null, undefined],
    ['keeps members that the schema does not know', nested, { other_name: { a_b: 1 } }, { otherName: { a_b: 1 } }],
    ['stays a text', nested, 'first_name', 'first_name'],
  ])('%s', (_, view, value, expected) => {
    expect(statusValueOf(view, value)).toEqual(expected);
  });
});

describe('the schema of a spec', () => {
  test('makes nullable members optional', () => {
    const schema = withCamelCase(z.object({ zip_code: z.string().nullable(), street_name: z.string() }));
    expect(schema.parse({ streetName: 'a' })).toEqual({ streetName: 'a' });
    expect(schema.safeParse({ zipCode: '1' }).success).toBe(false);
    expect(schema.safeParse({ streetName: 'a', zip_code: '1' }).success).toBe(false);
  });

  test.each([
    ['alone', z.object({ zip_code: z.string() }), { zipCode: '1' }],
    ['beside another', z.object({ city: z.string(), zip_code: z.string() }), { city: 'a', zipCode: '1' }],
  ])('renames a nested member, %s', (_, target, inSpec) => {
    const schema = withCamelCase(z.object({ note: z.string(), target }));
    expect(schema.parse({ note: 'a', target: inSpec })).toEqual({ note: 'a', target: inSpec });
  });

  test('takes another schema for a member at any depth', () => {
    const given = z.object({ target: z.object({ secret: z.string() }) });
    const schema = withCamelCase(given, (name) => (name === 'secret' ? z.int() : undefined));
    expect(schema.parse({ target: { secret: 1 } })).toEqual({ target: { secret: 1 } });
  });
});
