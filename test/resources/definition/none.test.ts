import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import { orNone } from '../../../src/resources/definition/none.ts';

/** An optional value somewhere in a body. */
interface Optional {
  place: string;
  schema: z.ZodType;
  /** Whether "" is none, too. */
  emptyIsNone: boolean;
}

/** The optional values of a schema, at any depth. */
function optionalsOf(schema: unknown, place: string, emptyIsNone = false): Optional[] {
  if (schema instanceof z.ZodPreprocess) return optionalsOf(schema.out, place, true);
  if (schema instanceof z.ZodNullable) {
    const inner = schema.unwrap();
    const own = inner instanceof z.ZodType ? [{ place, schema: inner, emptyIsNone }] : [];
    return [...own, ...optionalsOf(inner, place)];
  }
  if (schema instanceof z.ZodOptional) return optionalsOf(schema.unwrap(), place);
  if (schema instanceof z.ZodPipe) return optionalsOf(schema.in, place);
  if (schema instanceof z.ZodArray) return optionalsOf(schema.element, `${place}[]`);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, member]) => optionalsOf(member, `${place}.${name}`));
}

const keywords = z.object({
  enum: z.array(z.unknown()).optional(),
  pattern: z.string().optional(),
  'x-form': z.object({ format: z.string().optional() }).optional(),
});

function isIdEnumOrTime(schema: z.ZodType): boolean {
  const { data } = keywords.safeParse(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  return (
    data?.enum !== undefined ||
    /^\^\(\w+(\|\w+)*\)_/.test(data?.pattern ?? '') ||
    data?.['x-form']?.format !== undefined
  );
}

const optionals = OPERATIONS.flatMap(({ operationId, body }) => optionalsOf(body, operationId));

describe('for ids, enums and times that may be none, "" is none', () => {
  const meant = optionals.filter(({ schema }) => isIdEnumOrTime(schema));

  test('(there are some, at any depth)', () => {
    const places = meant.map(({ place }) => place);
    expect(places).toContain('createReservedDomain.region');
    expect(places).toContain('createReservedDomain.certificate_management_policy.private_key_type');
    expect(places).toContain('updateReservedDomain.https_endpoint_configuration_id');
    expect(places).toContain('createApiKey.expires_at');
  });

  test.each(meant.map((one) => [one.place, one] as const))('%s', (_, { emptyIsNone }) => {
    expect(emptyIsNone).toBe(true);
  });
});

test('for everything else, "" is a value, or refused', () => {
  const others = optionals.filter(({ schema }) => !isIdEnumOrTime(schema));
  expect(others.filter(({ emptyIsNone }) => emptyIsNone)).toEqual([]);
});

test.each([
  ['null', null, null],
  ['""', '', null],
  ['a value', 'eu', 'eu'],
])('%s is read as such', (_, sent, read) => {
  expect(orNone(z.enum(['eu'])).parse(sent)).toBe(read);
});

test('what is neither is refused', () => {
  for (const sent of [' ', 'mars', 0, false]) expect(orNone(z.enum(['eu'])).safeParse(sent).success).toBe(false);
});
