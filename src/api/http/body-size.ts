/**
 * How many elements and members the lists and maps of a body may have. zod looks at every element before it looks at
 * their number, and has something to say of each: a body of 1 MiB would keep it busy for seconds.
 */
import { z } from 'zod';
import type { ReadOnlyMembers } from '../../resources/definition/read-only.ts';

/** The largest value that a schema takes, as far as its lists and maps go. */
export interface Size {
  /** Most elements of a list. */
  readonly elements?: number;
  /** Most members of a map. */
  readonly members?: number;
  /** Of each element of a list or member of a map. */
  readonly each?: Size;
  readonly named: ReadonlyMap<string, Size>;
}

const json: z.ZodType<Json> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    $defs: z.record(z.string(), json).optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    items: json.optional(),
    properties: z.record(z.string(), json).optional(),
    additionalProperties: z.union([z.boolean(), json]).optional(),
    maxItems: z.number().optional(),
    maxProperties: z.number().optional(),
    'x-form': z.object({ maxProperties: z.number().optional() }).optional(),
    anyOf: z.array(json).optional(),
    oneOf: z.array(json).optional(),
    allOf: z.array(json).optional(),
  }),
);

interface Json {
  $ref?: string | undefined;
  $defs?: Record<string, Json> | undefined;
  type?: string | string[] | undefined;
  items?: Json | undefined;
  properties?: Record<string, Json> | undefined;
  additionalProperties?: boolean | Json | undefined;
  maxItems?: number | undefined;
  maxProperties?: number | undefined;
  'x-form'?: { maxProperties?: number | undefined } | undefined;
  anyOf?: Json[] | undefined;
  oneOf?: Json[] | undefined;
  allOf?: Json[] | undefined;
}

/** Throws if a list or map of the schema has no largest size: what it costs to refuse one must have a bound. */
export function sizeOf(schema: z.ZodType, { members }: ReadOnlyMembers): Size {
  const root = json.parse(z.toJSONSchema(schema, { io: 'input' }));
  const size = read(root, root.$defs ?? {});
  // What stands for another member is read as that one.
  const standIns = Object.entries(members).flatMap(([name, { standsFor }]) => {
    const own = standsFor && size.named.get(standsFor.member);
    return own ? [[name, own] as const] : [];
  });
  return { ...size, named: new Map([...standIns, ...size.named]) };
}

function read(schema: Json, definitions: Readonly<Record<string, Json>>): Size {
  const { $ref, type, items, properties = {}, additionalProperties, 'x-form': form } = schema;
  const { maxItems, maxProperties = form?.maxProperties } = schema;
  const inner = (one: Json) => read(one, definitions);
  const isMap = typeof additionalProperties === 'object';
  if (type === 'array' && maxItems === undefined) throw new Error('a list in a body without a largest length');
  if (isMap && maxProperties === undefined) throw new Error('a map in a body without a largest size');
  const named = new Map(Object.entries(properties).map(([name, member]) => [name, inner(member)]));
  const each = items ?? (isMap ? additionalProperties : undefined);
  const own: Size = {
    named,
    ...(maxItems !== undefined && { elements: maxItems }),
    ...(isMap && maxProperties !== undefined && { members: maxProperties }),
    ...(each && { each: inner(each) }),
  };
  const definition = $ref === undefined ? undefined : definitions[$ref.replace(/^.*\//, '')];
  const { anyOf = [], oneOf = [], allOf = [] } = schema;
  return [...anyOf, ...oneOf, ...allOf, ...(definition ? [definition] : [])].map(inner).reduce(larger, own);
}

/** What either takes. */
function larger(one: Size, other: Size): Size {
  const elements = most(one.elements, other.elements);
  const members = most(one.members, other.members);
  const each = one.each && other.each ? larger(one.each, other.each) : (one.each ?? other.each);
  const both = [...other.named].map(([name, size]) => [name, larger(size, one.named.get(name) ?? size)] as const);
  return {
    named: new Map([...one.named, ...both]),
    ...(elements !== undefined && { elements }),
    ...(members !== undefined && { members }),
    ...(each && { each }),
  };
}

const most = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);

export interface Excess {
  path: readonly PropertyKey[];
  reason: string;
}

/** The first list or map of the value that is larger than allowed. Looks at no element of it. */
export function excessOf(value: unknown, size: Size, path: readonly PropertyKey[] = []): Excess | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  if (Array.isArray(value)) {
    const { elements, each } = size;
    if (elements === undefined) return undefined;
    if (value.length > elements) return { path, reason: tooMany(value.length, 'elements', elements) };
    return first(value.entries(), ([index, element]) => each && excessOf(element, each, [...path, index]));
  }
  const { members, each, named } = size;
  if (members !== undefined) {
    const count = Object.keys(value).length;
    if (count > members) return { path, reason: tooMany(count, 'members', members) };
    if (each) return first(Object.entries(value), ([name, member]) => excessOf(member, each, [...path, name]));
  }
  if (named.size > 0) {
    const count = Object.keys(value).length;
    if (count > named.size + UNKNOWN) return { path, reason: `has ${count} members, far more than it can have` };
  }
  return first(named, ([name, inner]) =>
    Object.hasOwn(value, name) ? excessOf(Reflect.get(value, name), inner, [...path, name]) : undefined,
  );
}

/** Members that an object may have beside those that can be set: what responses show, and mistakes to name. */
const UNKNOWN = 50;

const tooMany = (count: number, what: string, limit: number) => `has ${count} ${what}; at most ${limit} are allowed`;

function first<T>(from: Iterable<T>, find: (one: T) => Excess | undefined): Excess | undefined {
  for (const one of from) {
    const found = find(one);
    if (found) return found;
  }
  return undefined;
}
