/** How clients say "none" in a request, at any depth: by leaving a member out, by null, and by "". */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import type { Operation } from '../../../src/api/http/operation.ts';
import { managerId } from '../../../src/resources/definition/manager.ts';

/** A member of an object, somewhere in a body. */
interface Member {
  place: string;
  /** As requests are parsed. */
  schema: z.ZodType;
}

const schemaType = z.instanceof(z.ZodType);
const LEAVES = [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodEnum, z.ZodLiteral, z.ZodNever];

/** Unwraps what lets a value be absent or none. */
function inside(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return inside(schemaType.parse(schema.unwrap()));
  }
  return schema instanceof z.ZodPreprocess ? inside(schemaType.parse(schema.out)) : schema;
}

/** The members of all objects in a schema. Throws on a schema that it cannot look into, which could hide members. */
function membersOf(schema: z.ZodType, place: string): Member[] {
  const value = inside(schema);
  const of = (inner: unknown, at: string) => membersOf(schemaType.parse(inner), at);
  if (value instanceof z.ZodPipe) return of(value.in, place);
  if (value instanceof z.ZodArray) return of(value.element, `${place}[]`);
  if (value instanceof z.ZodRecord) return of(value.valueType, `${place}{}`);
  if (value instanceof z.ZodObject) {
    return Object.entries(value.shape).flatMap(([name, member]) => {
      const own = { place: `${place}.${name}`, schema: schemaType.parse(member) };
      return [own, ...of(member, own.place)];
    });
  }
  if (LEAVES.some((leaf) => value instanceof leaf)) return [];
  throw new Error(`${place} is a ${value.constructor.name}, which this test cannot look into`);
}

const takes = ({ schema }: Member, value: unknown) => schema.safeParse(value).success;
const read = ({ schema }: Member, value: unknown) => schema.safeParse(value).data;
const allOf = ({ body, operationId }: Operation) => (body ? membersOf(body, operationId) : []);

/** Whether the OpenAPI document has the member as an id, an enum or a time. */
function isIdEnumOrTime({ schema }: Member): boolean {
  const json = z.toJSONSchema(inside(schema), { io: 'input', unrepresentable: 'any' });
  const { data } = keywords.safeParse(json);
  const isId = /^\^\(\w+(\|\w+)*\)_/.test(data?.pattern ?? '') || data?.pattern === MANAGER_ID;
  return isId || data?.enum !== undefined || data?.['x-form']?.format !== undefined;
}
const MANAGER_ID = z.toJSONSchema(managerId).pattern;
const keywords = z.object({
  enum: z.array(z.unknown()).optional(),
  pattern: z.string().optional(),
  'x-form': z.object({ format: z.string().optional() }).optional(),
});

/** Whether an account is active, or an admin, is stated and never reset. */
const SAID = /\.(?:active|admin)$/;

/** Members that a PATCH may leave unchanged but not reset: those that the create of the same family requires. */
function requiredOnCreate({ path }: Operation): string[] {
  const create = OPERATIONS.find((other) => other.method === 'POST' && `${other.path}/{id}` === path);
  const members = create ? allOf(create).filter((member) => !takes(member, undefined)) : [];
  return members.map(({ place }) => place.replace(/^\w+/, ''));
}

const withBody = OPERATIONS.filter(({ body }) => body !== undefined);

describe.each(withBody.map((operation) => [operation.operationId, operation] as const))('%s', (_, operation) => {
  const kept = operation.method === 'PATCH' ? requiredOnCreate(operation) : [];
  const optional = allOf(operation).filter((member) => takes(member, undefined) || takes(member, null));
  const ofForm = Object.groupBy(optional, (member) => (isIdEnumOrTime(member) ? 'ids' : 'others'));
  const places = (members: Member[]) => members.map(({ place }) => place);

  test('accepts null for members that may be left out', () => {
    const needed = optional.filter(({ place }) => !SAID.test(place) && !kept.includes(place.replace(/^\w+/, '')));
    expect(places(needed.filter((member) => !takes(member, null)))).toEqual([]);
  });

  test('accepts "" as none for ids, enums and times that may be none', () => {
    const meant = (ofForm.ids ?? []).filter((member) => takes(member, null));
    expect(places(meant.filter((member) => !takes(member, '') || read(member, '') !== null))).toEqual([]);
  });

  test('accepts "" as a value, or not at all, for everything else', () => {
    const wrong = (ofForm.others ?? []).filter((member) => takes(member, '') && read(member, '') !== '');
    expect(places(wrong)).toEqual([]);
  });
});

test('the ids, enums and times of all bodies are found', () => {
  const found = withBody.flatMap(allOf).filter(isIdEnumOrTime);
  expect(found.map(({ place }) => place)).toEqual(
    expect.arrayContaining([
      'createReservedDomain.region',
      'createReservedDomain.certificate_management_policy.private_key_type',
      'updateReservedDomain.https_endpoint_configuration_id',
      'createApiKey.expires_at',
      'replaceTlsEdgeBackend.backend_id',
      'replaceIpPolicyRuleSet.rules[].action',
    ]),
  );
});

const parameters = OPERATIONS.flatMap(({ query, operationId }) => (query ? membersOf(query, operationId) : []));
const [others, filters] = [false, true].map((isFilter) =>
  parameters
    .filter(({ place }) => place.includes('.filter[') === isFilter)
    .map((parameter) => [parameter.place, parameter] as const),
);

test.each(filters ?? [])('the filter %s is refused if it is empty, since it would then limit nothing', (_, filter) => {
  expect(takes(filter, undefined)).toBe(true);
  expect(takes(filter, '')).toBe(false);
});

test.each(others ?? [])('the query parameter %s counts as absent if it is empty', (_, parameter) => {
  expect(takes(parameter, undefined)).toBe(true);
  expect(takes(parameter, '')).toBe(true);
  expect(read(parameter, '')).toBe(undefined);
});
