/** Tells which operations and fields of the OpenAPI document the rows cover. */
import { z } from 'zod';
import type { Row, Step } from '../../dev/conformance/row.ts';
import { idPattern } from '../../src/resources/definition/id.ts';

const json = z.record(z.string(), z.unknown());
const content = z.object({ content: z.object({ 'application/json': z.object({ schema: json }) }) });
const operation = z.object({
  operationId: z.string(),
  'x-access': z.string().optional(),
  parameters: z.array(
    z.object({
      in: z.string().optional(),
      name: z.string().optional(),
      schema: z.object({ pattern: z.string().optional() }).optional(),
    }),
  ),
  requestBody: content.optional(),
  responses: z.record(z.string(), z.unknown()),
});
const documentShape = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), json), responses: z.record(z.string(), z.unknown()) }),
});

type Schema = z.output<typeof json>;

/** In the pattern of every parameter that takes an id. */
const ANY_ID = idPattern('').slice('()'.length);

export interface Documented {
  readonly id: string;
  /** `GET /ip_policies/{id}`. */
  readonly name: string;
  readonly method: string;
  /** Only admins may use it. */
  readonly admin: boolean;
  readonly query: readonly string[];
  /** Those of the query that take an id. */
  readonly idsInQuery: readonly string[];
  readonly takes: Schema | undefined;
  /** By status. */
  gives(status: number): Schema | undefined;
  matches(step: Pick<Step, 'method' | 'path'>): boolean;
}

export interface Contract {
  readonly operations: readonly Documented[];
  /** `IPPolicy.description`, `listIpPolicies?limit`; for a choice of values, also each value: `User.admin: true`. */
  readonly fields: ReadonlySet<string>;
  operationOf(step: Pick<Step, 'method' | 'path'>): Documented | undefined;
  /** The fields that this row covers: those it sends with success, and those it checks in the answer. */
  fieldsOf(row: Row): Set<string>;
}

/** Reads an OpenAPI document. Throws ZodError when its form differs from ours. */
export function readContract(document: unknown): Contract {
  const { paths, components } = documentShape.parse(document);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, found]) => documented(path, method.toUpperCase(), found)),
  );

  function documented(path: string, method: string, found: z.output<typeof operation>): Documented {
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    const query = found.parameters.filter((one) => one.in === 'query');
    const namesOf = (parameters: typeof query) => parameters.flatMap(({ name }) => name ?? []);
    return {
      id: found.operationId,
      name: `${method} ${path}`,
      method,
      admin: found['x-access'] !== undefined,
      query: namesOf(query),
      idsInQuery: namesOf(query.filter(({ schema }) => schema?.pattern?.includes(ANY_ID))),
      takes: found.requestBody?.content['application/json'].schema,
      gives: (status) => content.safeParse(resolved(found.responses[status])).data?.content['application/json'].schema,
      matches: (step) => step.method === method && pattern.test(step.path.split('?', 1)[0] ?? ''),
    };
  }

  function resolved(response: unknown): unknown {
    const { data } = z.object({ $ref: z.string() }).safeParse(response);
    return data ? components.responses[data.$ref.replace('#/components/responses/', '')] : response;
  }

  /** Adds the fields of `schema` that `value` has; without a value, all of them. */
  function walk(schema: Schema, at: string, found: Set<string>, value?: { of: unknown }): void {
    if (typeof schema.$ref === 'string') {
      const name = schema.$ref.replace('#/components/schemas/', '');
      const known = components.schemas[name];
      // A recursive schema would never end.
      if (!known || (!value && at.split('>').includes(name))) return;
      walk(known, value ? name : `${at}>${name}`, found, value);
      return;
    }
    const own = at.split('>').at(-1) ?? at;
    for (const branch of branches(schema)) walk(branch, at, found, value);
    for (const choice of choicesOf(schema)) if (!value || value.of === choice) found.add(`${own}: ${choice}`);
    for (const [name, member] of Object.entries(json.safeParse(schema.properties).data ?? {})) {
      if (value && !has(value.of, name)) continue;
      found.add(`${own}.${name}`);
      const next = value && { of: (value.of as Record<string, unknown>)[name] };
      walk(json.parse(member), value ? `${own}.${name}` : `${at}.${name}`, found, next);
    }
    const { data: items } = json.safeParse(schema.items);
    if (!items) return;
    if (!value) walk(items, at, found);
    else if (Array.isArray(value.of)) for (const of of value.of) walk(items, at, found, { of });
  }

  const fields = new Set<string>();
  for (const { id, query, takes, gives } of operations) {
    if (takes) walk(takes, '', fields);
    for (const status of [200, 201, 400]) {
      const schema = gives(status);
      if (schema) walk(schema, '', fields);
    }
    for (const name of query) fields.add(`${id}?${name}`);
  }

  const operationOf = (step: Pick<Step, 'method' | 'path'>) =>
    // Prefer a literal path to one with a parameter in its place.
    operations.filter(({ matches }) => matches(step)).sort((a, b) => parameters(a.name) - parameters(b.name))[0];

  return {
    operations,
    fields,
    operationOf,
    fieldsOf({ ask, answer, later = [] }) {
      const found = new Set<string>();
      for (const [step, { status, body }] of [[ask, answer] as const, ...later]) {
        const known = operationOf(step);
        if (!known) continue;
        const given = known.gives(status);
        if (given && body !== undefined) walk(given, '', found, { of: body });
        if (status >= 300) continue;
        if (known.takes && step.body !== undefined) walk(known.takes, '', found, { of: step.body });
        const query = new URLSearchParams(step.path.split('?', 2)[1] ?? '');
        for (const name of query.keys()) found.add(`${known.id}?${name}`);
      }
      return found;
    },
  };
}

const choicesOf = (schema: Schema): unknown[] => {
  if ('const' in schema) return [schema.const];
  if (schema.type === 'boolean') return [true, false];
  return z.array(z.unknown()).safeParse(schema.enum).data ?? [];
};

const branches = ({ anyOf, oneOf, allOf }: Schema): Schema[] =>
  [anyOf, oneOf, allOf].flatMap((list) => z.array(json).safeParse(list).data ?? []);

const has = (value: unknown, name: string) =>
  value !== null && typeof value === 'object' && (value as Record<string, unknown>)[name] !== undefined;

const parameters = (name: string) => name.split('{').length;
