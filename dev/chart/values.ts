/**
 * The values of the chart, read from values.yaml with its comments: the only source of their schema and of the
 * table in the chart's README.
 */
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { z } from 'zod';
import { shapeOf } from './shapes.ts';

const jsonSchema = z.record(z.string(), z.unknown());
export type JsonSchema = z.output<typeof jsonSchema>;

export interface Value {
  readonly path: readonly string[];
  /** The text of the `--` comment, which a leaf must have. */
  readonly description: string | undefined;
  /** What the `@schema` comment adds to the schema inferred from the default. */
  readonly schema: JsonSchema;
  readonly default: unknown;
  /** The nested values; undefined for a leaf, such as an empty map that users fill. */
  readonly children: readonly Value[] | undefined;
}

/** @throws Error if the file is not a map, or an `@schema` is not a JSON object */
export function readValues(yaml: string): readonly Value[] {
  const { contents } = parseDocument(yaml);
  if (!isMap(contents)) throw new Error('values.yaml is not a map');
  return valuesOf(contents, []);
}

function valuesOf(map: YAMLMap, above: readonly string[]): Value[] {
  return map.items.map(({ key, value }, index) => {
    if (!isScalar(key)) throw new Error(`a key below ${above.join('.')} is not a text`);
    const path = [...above, String(key.value)];
    // The comment before the first key belongs to the map.
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? '';
    // Flow style marks values that users replace or extend as a whole, such as resources.
    const children = isMap(value) && !value.flow && value.items.length > 0 ? valuesOf(value, path) : undefined;
    const isPlain = isScalar(value) || value === null;
    const json: unknown = isPlain ? value?.value : JSON.parse(JSON.stringify(value));
    return { path, ...readComment(comment), default: json, children };
  });
}

function readComment(comment: string): Pick<Value, 'description' | 'schema'> {
  const lines = comment.split('\n').map((line) => line.trim());
  const of = (mark: string) => lines.find((line) => line.startsWith(mark))?.slice(mark.length);
  return { description: of('-- '), schema: jsonSchema.parse(JSON.parse(of('@schema ') ?? '{}')) };
}

/** values.schema.json: a misspelt name or a value of another type is refused before anything is installed. */
export function valuesSchema(values: readonly Value[]): JsonSchema {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...schemaOfMap(values) };
}

function schemaOfMap(values: readonly Value[]): JsonSchema {
  const properties = Object.fromEntries(values.map((value) => [value.path.at(-1), schemaOf(value)]));
  return { type: 'object', additionalProperties: false, properties };
}

function schemaOf({ path, children, description, schema, default: value }: Value): JsonSchema {
  const said = { ...(description !== undefined && { description }) };
  if (children) return { ...said, ...schemaOfMap(children), ...schema };
  const type = typeOf(value);
  return { ...said, type, ...(type === 'integer' && { minimum: 0 }), ...shapeOf(path), ...schema };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** The table of README.md. */
export function valuesTable(values: readonly Value[]): string {
  const rows = values
    .flatMap(leaves)
    .map((value) => `| \`${value.path.join('.')}\` | \`${JSON.stringify(value.default)}\` | ${meaning(value)} |`);
  return ['| Value | Default | |', '|---|---|---|', ...rows].join('\n');
}

function leaves(value: Value): Value[] {
  return value.children ? value.children.flatMap(leaves) : [value];
}

function meaning({ description = '', schema }: Value): string {
  const choices = z.array(z.string()).safeParse(schema.enum);
  const oneOf = choices.success ? `One of ${choices.data.map((choice) => `\`${choice}\``).join(', ')}.` : '';
  return [description, oneOf].filter((text) => text !== '').join(' ');
}
