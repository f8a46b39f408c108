/** Turns zod schemas into those of the OpenAPI document: each body once, under its name. */
import { z } from 'zod';
import { errorBody } from '../../resources/definition/errors.ts';
import type { Operation } from '../http/operation.ts';

/** A JSON document; its members are plain data. */
export type Json = { [member: string]: unknown };

export const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

export function inline(schema: z.ZodType): Json {
  const { $schema, ...rest } = z.record(z.string(), z.unknown()).parse(z.toJSONSchema(schema, { io: 'input' }));
  return rest;
}

/** Every body is a component, so that generated clients have names for them. */
export function nameOf(schema: z.ZodType): string {
  const id = z.globalRegistry.get(schema)?.id;
  if (id === undefined) throw new Error('a schema of the API without a name');
  return id;
}

/** All bodies that operations accept and return. */
export function components(operations: readonly Operation[]): Json {
  const bodies = operations.flatMap(({ body }) => (body ? [body] : []));
  const views = operations.flatMap(({ success }) => (success.schema ? [success.schema] : []));
  return { ...jsonSchemas(bodies, 'input'), ...jsonSchemas([...views, errorBody], 'output') };
}

/** zod drops the examples of a transformed schema, since they might be of its output. Ours fit both. */
function keepExamples({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Json }): void {
  const examples = z.globalRegistry.get(zodSchema)?.examples;
  if (examples !== undefined && jsonSchema.$ref === undefined) jsonSchema.examples = examples;
}

/** Unfolds the keywords that a schema has only for this document (resources/text.ts), and raises descriptions. */
function unfold(key: string, value: unknown): unknown {
  // The CRDs say what a pattern means; here the pattern speaks for itself.
  if (key === 'x-message') return undefined;
  const { data } = form.safeParse(value);
  if (data?.['x-form'] === undefined && data?.['x-refused'] === undefined) return raiseDescription(value);
  const { 'x-form': own, 'x-refused': refused = [], ...rest } = data;
  return { ...patternWithout(refused), ...rest, ...own };
}

/** A pattern of all that has none of the refused characters. It leaves other refusals to the API. */
function patternWithout(refused: readonly { found: string }[]): Json {
  const classes = refused.flatMap(({ found }) => /^\[([^^].*)\]$/.exec(found)?.[1] ?? []);
  return classes.length === 0 ? {} : { pattern: `^[^${classes.join('')}]*$` };
}

/** Moves the description of the value of a nullable property to the property itself. */
function raiseDescription(value: unknown): unknown {
  const { data } = choice.safeParse(value);
  const [{ description, ...first } = {}, ...others] = data?.anyOf ?? [];
  return description === undefined ? value : { description, ...data, anyOf: [first, ...others] };
}

/** A schema that is no component, as this document shows it. */
export const unfolded = (schema: Json): Json =>
  z.record(z.string(), z.unknown()).parse(JSON.parse(JSON.stringify(schema), unfold));

const choice = z.looseObject({ anyOf: z.array(z.record(z.string(), z.unknown())) });
const form = z.looseObject({
  'x-form': z.record(z.string(), z.unknown()).optional(),
  'x-refused': z.array(z.looseObject({ found: z.string() })).optional(),
});

const registryOutput = z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) });

function jsonSchemas(schemas: readonly z.ZodType[], io: 'input' | 'output'): Json {
  const registry = z.registry<{ id: string }>();
  for (const schema of new Set(schemas)) registry.add(schema, { id: nameOf(schema) });
  const made = registryOutput.parse(
    z.toJSONSchema(registry, { io, uri: (id) => `#/components/schemas/${id}`, override: keepExamples }),
  ).schemas;
  // zod collects the schemas that only other schemas refer to under one name.
  const { __shared: shared, ...named } = made;
  const all = { ...named, ...z.record(z.string(), z.unknown()).parse(shared?.$defs ?? {}) };
  const text = JSON.stringify(all, (key, value: unknown) => (key === '$schema' || key === '$id' ? undefined : value));
  return z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(text.replaceAll('#/components/schemas/__shared#/$defs/', '#/components/schemas/'), unfold));
}
