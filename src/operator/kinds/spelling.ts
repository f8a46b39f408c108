/**
 * The names of members: snake_case in the API, camelCase in specs. Only members that a schema names are respelled; the
 * keys of a map are the user's own.
 */
import { z } from 'zod';
import { camelCase } from '../managed/declaration/spec-terms.ts';

/** Another schema for the member of that name (in snake_case); undefined to respell the one it has. */
export type Leaf = (name: string, schema: z.ZodType) => z.ZodType | undefined;

/** The schema of requests, with members in camelCase. The API checks rules between members. */
export function withCamelCase(schema: z.ZodType, leaf: Leaf = () => undefined): z.ZodType {
  const shape = requestShape(schema);
  // The list as requests carry it, not as the family transforms it.
  if (shape instanceof z.ZodArray && shape !== schema) return shape.meta({ ...withoutId(schema) });
  if (shape instanceof z.ZodObject) {
    const members = Object.entries<z.ZodType>(shape.shape).map(([name, member]) => {
      const { inner, isOptional } = withoutOptional(member);
      const respelled = (leaf(name, inner) ?? withCamelCase(inner, leaf)).meta({ ...aboutOf(member, inner) });
      return [camelCase(name), isOptional ? respelled.optional() : respelled];
    });
    // A schema without names to change keeps its own checks.
    if (members.every(([name]) => name !== undefined && String(name) in shape.shape) && !hasLeaf(shape, leaf))
      return schema;
    return z.strictObject(Object.fromEntries(members)).meta({ ...withoutId(schema) });
  }
  return schema;
}

function hasLeaf(shape: z.ZodObject, leaf: Leaf): boolean {
  return Object.entries<z.ZodType>(shape.shape).some(([name, member]) => {
    const { inner } = withoutOptional(member);
    const nested = requestShape(inner);
    return leaf(name, inner) !== undefined || (nested instanceof z.ZodObject && hasNames(nested, leaf));
  });
}

const hasNames = (shape: z.ZodObject, leaf: Leaf): boolean =>
  Object.keys(shape.shape).some((name) => name !== camelCase(name)) || hasLeaf(shape, leaf);

/** The schema of responses, as in a status: in camelCase, with absent instead of null. */
export function statusSchemaOf(view: z.ZodType): z.ZodType {
  const { inner } = withoutOptional(view);
  if (!(inner instanceof z.ZodObject)) return inner;
  const members = Object.entries<z.ZodType>(inner.shape).map(([name, member]) => {
    const nested = statusSchemaOf(member).meta(aboutOf(member, withoutOptional(member).inner));
    return [camelCase(name), nested.optional()];
  });
  return z.object(Object.fromEntries(members)).meta(withoutId(inner));
}

/** The value of a response in the form of a status. */
export function statusValueOf(view: z.ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  const { inner } = withoutOptional(view);
  if (!(inner instanceof z.ZodObject) || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const nested: z.ZodType | undefined = inner.shape[name];
      return [camelCase(name), nested ? statusValueOf(nested, member) : member];
    }),
  );
}

/** The value of a spec in the form of a request. */
export function inSnakeCase(schema: z.ZodType, value: unknown): unknown {
  const shape = requestShape(withoutOptional(schema).inner);
  if (!(shape instanceof z.ZodObject) || typeof value !== 'object' || value === null || Array.isArray(value))
    return value;
  const names = new Map(Object.keys(shape.shape).map((name) => [camelCase(name), name]));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([member, each]) => {
        const name = names.get(member) ?? member;
        const inner: z.ZodType | undefined = shape.shape[name];
        return [name, inner ? inSnakeCase(inner, each) : each];
      }),
  );
}

/** The names of members, at any depth. */
export function namesIn(schema: z.ZodType): string[] {
  const shape = requestShape(withoutOptional(schema).inner);
  if (shape instanceof z.ZodArray) return namesIn(shape.element as z.ZodType);
  if (!(shape instanceof z.ZodObject)) return [];
  return Object.entries<z.ZodType>(shape.shape).flatMap(([name, member]) => [name, ...namesIn(member)]);
}

/** The schema of requests, before any transform. */
export function requestShape(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodPipe ? requestShape(schema.in as z.ZodType) : schema;
}

/** The schema of the member without undefined and null. */
export function withoutOptional(schema: z.ZodType): { inner: z.ZodType; isOptional: boolean } {
  if (schema instanceof z.ZodOptional)
    return { inner: withoutOptional(schema.unwrap() as z.ZodType).inner, isOptional: true };
  if (schema instanceof z.ZodNullable) return { ...withoutOptional(schema.unwrap() as z.ZodType), isOptional: true };
  if (schema instanceof z.ZodPreprocess) return withoutOptional(schema.out as z.ZodType);
  return { inner: schema, isOptional: false };
}

/** The description of the member, else of its inner schema. */
function aboutOf(member: z.ZodType, inner: z.ZodType) {
  const description = outerDescription(member) ?? inner.meta()?.description;
  return description === undefined ? {} : { description };
}

/** The first description of the schema, or of what it makes optional. */
function outerDescription(schema: z.ZodType): string | undefined {
  const wraps = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return schema.meta()?.description ?? (wraps ? outerDescription(schema.unwrap() as z.ZodType) : undefined);
}

/** Ids name schemas of the OpenAPI document. */
function withoutId(schema: z.ZodType) {
  const { id: _, ...meta } = schema.meta() ?? {};
  return meta;
}
