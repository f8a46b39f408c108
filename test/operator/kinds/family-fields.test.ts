/**
 * What users install says of every field what its family says: the CRDs are read as generated, the families as JSON
 * schemas, and the code that makes the one from the other is left out.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { crdFileName } from '../../../src/operator/crds/crd.ts';
import { type FamilyField, isDeclarable } from '../../../src/operator/kinds/family-fields.ts';
import { kinds } from '../../../src/operator/kinds/kinds.ts';
import type { AnyPlainKind } from '../../../src/operator/kinds/plain-kind.ts';

type Json = Readonly<Record<string, unknown>>;

const record = z.record(z.string(), z.unknown());
const asRecord = (value: unknown): Json => record.parse(value ?? {});

/** The schema of the spec, as the API server has it. */
function specOf(kind: AnyPlainKind): Json {
  const text = readFileSync(join(import.meta.dirname, '../../../crds', crdFileName(kind)), 'utf8');
  const versions = z
    .object({ spec: z.object({ versions: z.array(z.object({ schema: z.object({ openAPIV3Schema: record }) })) }) })
    .parse(parse(text)).spec.versions;
  return asRecord(asRecord(versions[0]?.schema.openAPIV3Schema.properties).spec);
}

/** The JSON schema of what a request carries, without null. */
function requestSchema(input: z.ZodType): Json {
  const json = asRecord(z.toJSONSchema(input, { io: 'input', unrepresentable: 'any', reused: 'inline' }));
  return withoutNull(json);
}

function withoutNull(json: Json): Json {
  const { anyOf, ...others } = json;
  if (!Array.isArray(anyOf)) return { ...json, ...asRecord(json['x-form']) };
  const [only, ...more] = anyOf.map(asRecord).filter(({ type }) => type !== 'null');
  return only && more.length === 0 ? withoutNull({ ...only, ...others }) : json;
}

const camelCase = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Keywords that both have, with the same meaning. */
const SAME = ['type', 'enum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const BOUNDS = ['minimum', 'maximum'];

/** What differs between the family's schema and that in the CRD, by path. */
function differences(family: Json, ours: Json, path: string, sources: readonly string[]): string[] {
  const found: string[] = [];
  for (const keyword of SAME) {
    const [wanted, given] = [family[keyword], ours[keyword]];
    if (wanted !== undefined && JSON.stringify(wanted) !== JSON.stringify(given)) {
      found.push(`${path}: ${keyword} is ${JSON.stringify(given)} instead of ${JSON.stringify(wanted)}`);
    }
  }
  for (const keyword of BOUNDS) {
    const wanted = family[keyword];
    if (typeof wanted === 'number' && Math.abs(wanted) < Number.MAX_SAFE_INTEGER && ours[keyword] !== wanted) {
      found.push(`${path}: ${keyword} is ${JSON.stringify(ours[keyword])} instead of ${wanted}`);
    }
  }
  const rules = JSON.stringify(ours['x-kubernetes-validations'] ?? []);
  const bytes = family['x-max-bytes'];
  if (bytes !== undefined && !rules.includes(`<= ${bytes}"`)) found.push(`${path}: more than ${bytes} bytes pass`);
  if (typeof family.pattern === 'string' && ours.pattern === undefined && rules === '[]' && ours.format === undefined) {
    found.push(`${path}: has no pattern`);
  }
  if (family.items !== undefined) {
    found.push(...differences(withoutNull(asRecord(family.items)), asRecord(ours.items), `${path}[]`, sources));
  }
  if (typeof family.additionalProperties === 'object') {
    const [values, given] = [asRecord(family.additionalProperties), asRecord(ours.additionalProperties)];
    found.push(...differences(values, textOf(given), `${path}{}`, sources));
  }
  const members = asRecord(ours.properties);
  for (const [name, member] of Object.entries(asRecord(family.properties))) {
    const [given, at] = [asRecord(members[camelCase(name)]), `${path}.${camelCase(name)}`];
    const text = sources.includes(name) ? textOf(given) : given;
    found.push(...differences(withoutNull(asRecord(member)), text, at, sources));
  }
  const required = z
    .array(z.string())
    .parse(family.required ?? [])
    .map(camelCase);
  if (family.properties && JSON.stringify(required) !== JSON.stringify(ours.required ?? [])) {
    found.push(`${path}: requires ${JSON.stringify(ours.required)} instead of ${JSON.stringify(required)}`);
  }
  return found;
}

/** The text itself, where it may come from elsewhere. */
function textOf(given: Json): Json {
  const { value, secretKeyRef } = asRecord(given.properties);
  return secretKeyRef === undefined ? given : asRecord(value);
}

function fieldDifferences(kind: AnyPlainKind, given: FamilyField, ours: Json): string[] {
  const { field, name, member } = given;
  const family = requestSchema(field.input);
  const path = `spec.${member}`;
  if (field.refersTo) {
    const one = asRecord(field.refersTo && family.type === 'array' ? ours.items : ours);
    const id = JSON.stringify(asRecord(one.properties).id);
    const missing = field.refersTo.filter(({ prefix }) => !new RegExp(`[(|^]${prefix}[)|_]`).test(id));
    const { type: _, items: __, ...others } = family;
    const list = family.type === 'array' ? differences({ ...others, type: 'array' }, ours, path, []) : [];
    return [...missing.map(({ prefix }) => `${path}: takes no id with the prefix ${prefix}`), ...list];
  }
  if (kind.sources.includes(name) && family.type === 'string') return differences(family, textOf(ours), path, []);
  return differences(family, ours, path, kind.sources);
}

/** Members that stand for fields of the family in another form. */
const declaredFields = (kind: AnyPlainKind) =>
  kind.fields
    .filter(isDeclarable)
    .filter(({ member }) => kind.spec instanceof z.ZodObject && member in kind.spec.shape);

describe.each(kinds)('$kind', (kind) => {
  const spec = specOf(kind);
  const members = asRecord(spec.properties);
  const fields = declaredFields(kind);

  test('takes what its family takes, and nothing else', () => {
    expect(fields.flatMap((given) => fieldDifferences(kind, given, asRecord(members[given.member])))).toEqual([]);
  });

  test('requires what its family requires', () => {
    const required = z.array(z.string()).parse(spec.required ?? []);
    const names = fields.map(({ member }) => member);
    const wanted = fields.filter(({ field }) => field.onCreate === 'required').map(({ member }) => member);
    expect(required.filter((member) => names.includes(member)).toSorted()).toEqual(wanted.toSorted());
  });

  test('says what its family says', () => {
    for (const { field, name, member } of fields) {
      const own = kind.about[name] ?? requestSchema(field.input).description;
      // Of a reference, that it is an id says nothing.
      if (typeof own !== 'string' || own.startsWith('Id with the prefix')) continue;
      expect(asRecord(members[member]).description, member).toMatch(
        new RegExp(`^${RegExp.escape(own)}( Immutable\\.)?$`),
      );
    }
  });
});
