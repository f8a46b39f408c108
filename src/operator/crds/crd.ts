/**
 * CustomResourceDefinitions from the declared kinds: structural schemas (OpenAPI 3.0) with CEL rules, so that
 * `kubectl apply` rejects everything that can be rejected without asking the API.
 */
import { stringify } from 'yaml';
import { z } from 'zod';
import { CATEGORY, GROUP, VERSION } from '../contract/names.ts';
import { type CelRule, celRegExp, celRegistry } from '../managed/declaration/cel.ts';
import type { AnyKind, PrinterColumn } from '../managed/declaration/kind.ts';
import { DEFAULT_STATUS } from '../managed/identity/recorded-status.ts';
import { columnsShape, conditionsSchema, statusShape } from './status-schema.ts';

type Schema = Record<string, unknown>;

/** What a CRD is made of: a kind whose objects are resources of the API, or one that says itself whether it is cluster-scoped. */
export interface CustomResource
  extends Pick<
    AnyKind,
    'kind' | 'plural' | 'singular' | 'shortNames' | 'description' | 'status' | 'rules' | 'printerColumns'
  > {
  spec: z.ZodType;
  isClusterScoped?: boolean;
  isAdministrative?: boolean;
}

/** The manifest of one kind's CRD, as YAML. */
export function crdYaml(kind: CustomResource): string {
  return `# Generated from src/operator/kinds; do not edit. Regenerate: npm run generate\n${stringify(crd(kind), { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

export function crdFileName(kind: Pick<CustomResource, 'plural'>): string {
  return `${GROUP}_${kind.plural}.yaml`;
}

/** The CRD of one kind as an object. */
export function crd(kind: CustomResource) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: kind.isClusterScoped ? 'Cluster' : 'Namespaced',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: [...kind.shortNames],
        categories: [CATEGORY],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [READY, ...kind.printerColumns, REASON_COLUMN, MESSAGE, AGE].map(printerColumn),
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

const READY: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  description: 'Whether everything is as the spec says.',
};
const REASON_COLUMN: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  description: 'Why the object is or is not ready, in one word.',
};
const MESSAGE: PrinterColumn = {
  name: 'Message',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].message',
  description: 'Why the object is or is not ready, and what to do about it.',
  priority: 1,
};
const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since the object was created.',
};

function printerColumn({ name, type, jsonPath, description, priority }: PrinterColumn) {
  return { name, type, jsonPath, description, priority };
}

function rootSchema(kind: CustomResource): Schema {
  const spec = structural(toJsonSchema(kind.spec));
  const columns = kind.printerColumns.some(({ lists }) => lists) ? columnsShape : {};
  const common = kind.isClusterScoped === undefined ? statusShape : {};
  const status = structural(toJsonSchema(z.object({ ...common, ...columns, ...kind.status.shape })));
  const rules = celRules(kind.rules);
  const isRequired = spec.required !== undefined;
  return {
    description: kind.description,
    type: 'object',
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      // If no field is required, an object may omit its spec. The default gives it one, so that transition rules apply
      // to it.
      spec: { description: 'Desired state.', ...(isRequired ? {} : { default: {} }), ...spec, ...rules },
      status: {
        ...status,
        description: 'Observed state, written by the operator.',
        default: DEFAULT_STATUS,
        properties: {
          ...(status.properties as Schema),
          conditions: { ...conditionsSchema },
        },
      },
    },
    ...(isRequired ? { required: ['spec'] } : {}),
  };
}

/** The metadata of schemas, except their names in the OpenAPI document. */
const withoutNames = Object.assign(z.registry<z.core.GlobalMeta>(), {
  get(schema: z.core.$ZodType) {
    const { id: _, ...meta } = z.globalRegistry.get(schema) ?? {};
    return meta;
  },
});

function toJsonSchema(schema: z.ZodType): Schema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'openapi-3.0',
    metadata: withoutNames,
    override: ({ zodSchema, jsonSchema }) => {
      // zod omits the default of a transformed schema, since it belongs to the output; here input and output are the
      // same.
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue;
      const registered = celRegistry.get(zodSchema);
      if (registered) jsonSchema['x-cel'] = registered.rules;
      else explainPattern(zodSchema, jsonSchema);
    },
  });
  return json;
}

/** Adds the meaning of the pattern, for a rule in its place: the API server would only quote the pattern. */
function explainPattern(schema: z.core.$ZodType, json: Schema): void {
  if (typeof json.pattern !== 'string') return;
  // The API server knows the format itself.
  if (json.format === 'date-time') {
    delete json.pattern;
    return;
  }
  json['x-message'] = ['', ' '].map((each) => z.safeParse(schema, each).error?.issues[0]?.message).find(Boolean);
}

/** Whether to use a rule instead of the pattern. For unbounded items of a list, a rule would cost too much. */
function isExplained({ 'x-message': message, maxLength }: Schema, isItem: boolean): boolean {
  return message !== undefined && !(isItem && maxLength === undefined);
}

/** A regular expression of JavaScript in the syntax of the API server. */
function inRe2(expression: string): string {
  return expression.replaceAll(/\\u([0-9a-fA-F]{4})/g, '\\x{$1}');
}

/** JSON schema keywords that a structural schema lacks, or that are translated. */
const DROPPED = new Set([
  'examples',
  'propertyNames',
  'x-max-bytes',
  'x-form',
  'x-cel',
  'x-message',
  'x-list-map-keys',
  'x-refused',
  'id',
]);

/** Translates zod's JSON schema into the structural schema that the API server accepts. */
function structural(given: Schema, isItem = false): Schema {
  const schema = withFormPattern(given);
  const result: Schema = {};
  const isRule = isExplained(schema, isItem);
  for (const [keyword, value] of Object.entries(schema)) {
    if (DROPPED.has(keyword) || (keyword === 'pattern' && isRule)) continue;
    if (keyword === 'additionalProperties' && typeof value !== 'object') continue;
    // zod bounds every integer by the range in which doubles are exact.
    if (Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER) continue;
    result[keyword] = translate(keyword, value);
  }
  // The pattern of a time costs more than the API server allows for, and it knows the format itself.
  const isTime = asSchema(schema['x-form'] ?? {}).format === 'date-time';
  if (isTime) return { ...result, format: 'date-time' };
  const keys = schema['x-list-map-keys'];
  return {
    ...result,
    ...fromForm(schema),
    ...celRules([...byteRule(schema), ...refusalRules(schema), ...(isRule ? patternRule(schema) : rulesOf(schema))]),
    ...listType(keys),
  };
}

/** Moves a pattern that has a meaning to the other keywords. An explicit CEL rule takes precedence. */
function withFormPattern(schema: Schema): Schema {
  const { pattern, 'x-message': message, ...form } = asSchema(schema['x-form'] ?? {});
  if (message === undefined) return schema;
  return { ...schema, 'x-form': form, ...(schema['x-cel'] === undefined && { pattern, 'x-message': message }) };
}

/** The part of a check in code that a schema can express. An explicit CEL rule has a better message. */
function fromForm(schema: Schema): Schema {
  if (schema['x-form'] === undefined || schema['x-cel'] !== undefined) return {};
  const { propertyNames: _, uniqueItems, ...form } = asSchema(schema['x-form']);
  return { ...structural(form), ...(uniqueItems === true ? uniqueList(asSchema(schema.items)) : {}) };
}

/** Objects in a list are identified by their required members. */
function uniqueList({ type, required }: Schema): Schema {
  return type === 'object' ? listType(required) : { 'x-kubernetes-list-type': 'set' };
}

function patternRule({ pattern, 'x-message': message }: Schema) {
  return [{ rule: `self.matches(${celRegExp(String(pattern))})`, message }];
}

/** A structural schema has no `propertyNames`. */
function rulesOf(schema: Schema): unknown[] {
  const form = asSchema(schema['x-form'] ?? {});
  const { pattern, 'x-message': message } = asSchema(form.propertyNames ?? {});
  if (schema['x-cel'] !== undefined || typeof pattern !== 'string')
    return z.array(z.unknown()).parse(schema['x-cel'] ?? []);
  return [{ rule: `self.all(key, key.matches(${celRegExp(pattern)}))`, message }];
}

function translate(keyword: string, value: unknown): unknown {
  if (keyword === 'properties') {
    return Object.fromEntries(
      Object.entries(asSchema(value)).map(([name, member]) => [name, structural(asSchema(member))]),
    );
  }
  if (keyword === 'pattern') return inRe2(String(value));
  if (keyword === 'items') return structural(asSchema(value), true);
  if (keyword === 'additionalProperties') return structural(asSchema(value));
  return value;
}

function byteRule(schema: Schema): CelRule[] {
  const max = schema['x-max-bytes'];
  if (typeof max !== 'number') return [];
  return [{ rule: `bytes(self).size() <= ${max}`, message: `must be at most ${max} bytes of UTF-8` }];
}

const refused = z.array(z.object({ found: z.string(), unless: z.string().optional(), says: z.string() })).catch([]);

function refusalRules(schema: Schema): CelRule[] {
  return refused.parse(schema['x-refused']).map(({ found, unless, says: message }) => {
    const exception = unless === undefined ? '' : ` || self.matches(${celRegExp(unless)})`;
    return { rule: `!self.matches(${celRegExp(found)})${exception}`, message };
  });
}

const celRule: z.ZodType<CelRule> = z.strictObject({
  rule: z.string(),
  message: z.string(),
  fieldPath: z.string().exactOptional(),
});

function celRules(rules: unknown): Schema {
  const parsed = z.array(celRule).optional().parse(rules);
  return parsed && parsed.length > 0 ? { 'x-kubernetes-validations': parsed } : {};
}

function listType(keys: unknown): Schema {
  return Array.isArray(keys) ? { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys } : {};
}

function asSchema(value: unknown): Schema {
  return z.record(z.string(), z.unknown()).parse(value);
}
