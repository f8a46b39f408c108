/** The spec that declares a resource as it is: the reverse of a reconcile. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { requestShape } from '../kinds/spelling.ts';
import { inputsOf, isSource, Source } from '../managed/declaration/input.ts';
import { camelCase } from '../managed/declaration/spec-terms.ts';
import type { SpecMember } from './spec-members.ts';

/** A Secret that a declaration names, and the keys in it that it reads. */
export interface NeededSecret {
  readonly name: string;
  readonly keys: readonly string[];
}

export interface Declaration {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly secrets: readonly NeededSecret[];
}

export interface DeclarationOptions {
  /** The Secret for secret values; undefined to put them into the spec as far as the API shows them. */
  secretName: string | undefined;
  /** The object that has the resource of this id; undefined if none will have it. */
  objectOf(id: string): { kind: string; name: string } | undefined;
}

export function declarationOf(members: readonly SpecMember[], options: DeclarationOptions): Declaration {
  const keys = new Set<string>();
  const { secretName } = options;
  const spec = specOf(members, { secretName, keys, prefix: '' }, options);
  return { spec, secrets: secretName !== undefined && keys.size > 0 ? [{ name: secretName, keys: [...keys] }] : [] };
}

interface Place {
  readonly secretName: string | undefined;
  /** Receives the keys that the Secret must have. */
  readonly keys: Set<string>;
  /** Of those keys: modules have settings of the same names. */
  readonly prefix: string;
}

interface MemberPlace extends Place {
  readonly isSecret: boolean;
}

function specOf(members: readonly SpecMember[], place: Place, options: DeclarationOptions): Record<string, unknown> {
  return withoutUndefined(members.map((member) => [member.name, memberValue(member, place, options)]));
}

function memberValue(member: SpecMember, place: Place, options: DeclarationOptions): unknown {
  const { name, schema, shown, initial, refersTo, isSecret, settings } = member;
  const mayBeLeftOut = schema.safeParse(undefined).success;
  if (mayBeLeftOut && (shown === undefined || isDeepStrictEqual(shown, initial))) return undefined;
  if (settings) return specOf(settings, { ...place, prefix: `${kebabCase(name)}-` }, options);
  if (refersTo !== 'nothing') return referring(schema, shown, options);
  return declared(schema, shown, name, { ...place, isSecret });
}

function declared(schema: z.ZodType, shown: unknown, name: string, place: MemberPlace): unknown {
  const inner = withoutDefault(schema);
  if (takesSource(inner)) return asSource(shown, name, place);
  if (shown === null || shown === undefined) return isRequired(schema) ? fromSecret(inner, place) : undefined;
  const shape = requestShape(inner);
  if (shape instanceof z.ZodObject) {
    const members = new Map(Object.entries(shown).map(([key, value]) => [camelCase(key), value]));
    return withoutUndefined(
      Object.entries<z.ZodType>(shape.shape).map(([member, each]) => [
        member,
        declared(each, members.get(member), member, place),
      ]),
    );
  }
  if (shape instanceof z.ZodArray && Array.isArray(shown)) {
    const element = anySchema.parse(shape.element);
    return shown.map((each) => declared(element, each, name, place));
  }
  if (shape instanceof z.ZodRecord) {
    const value = anySchema.parse(shape.valueType);
    return withoutUndefined(Object.entries(shown).map(([key, each]) => [key, declared(value, each, key, place)]));
  }
  return shown;
}

/** Zod types the members of its schemas as core schemas; all of ours are classic ones. */
const anySchema = z.instanceof(z.ZodType);

function asSource(shown: unknown, name: string, { isSecret, secretName, keys, prefix }: MemberPlace): unknown {
  if (!isSecret || secretName === undefined) return typeof shown === 'string' ? { value: shown } : undefined;
  // Skip values that were never given.
  if (shown === null) return undefined;
  const key = `${prefix}${kebabCase(name)}`;
  keys.add(key);
  return { secretKeyRef: { name: secretName, key } };
}

const kebabCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** A Secret by its name alone, if the schema takes one. */
function fromSecret(schema: z.ZodType, { secretName, keys }: Place): unknown {
  // The API does not show its contents.
  const named = { name: secretName ?? 'hidden' };
  const inputs = inputsOf(schema.safeParse(named).data).filter(isSource);
  for (const { input } of inputs) keys.add(input.key);
  return inputs.length > 0 ? named : undefined;
}

/** Paths of the members that are given by source. */
export function sourcesIn(schema: z.ZodType, path: string): string[] {
  const inner = withoutDefault(schema);
  if (takesSource(inner)) return [path];
  const shape = requestShape(inner);
  if (!(shape instanceof z.ZodObject)) return [];
  return Object.entries<z.ZodType>(shape.shape).flatMap(([name, member]) => sourcesIn(member, `${path}.${name}`));
}

const SOME = { name: 'x', key: 'x' };

const takesSource = (schema: z.ZodType) => schema.safeParse({ secretKeyRef: SOME }).data instanceof Source;

const isRequired = (schema: z.ZodType) => !schema.safeParse(undefined).success;

const shownRef = z.object({ id: z.string() });

function referring(schema: z.ZodType, shown: unknown, options: DeclarationOptions): unknown {
  const inner = withoutDefault(schema);
  if (inner instanceof z.ZodArray && Array.isArray(shown)) {
    const element = anySchema.parse(inner.element);
    return shown.map((each) => referring(element, each, options));
  }
  const id = shownRef.safeParse(shown).data?.id ?? shown;
  if (typeof id !== 'string') return undefined;
  const target = options.objectOf(id);
  if (!target) return { id };
  const { kind, name } = target;
  // A reference that may have several kinds names its kind.
  return inner.safeParse({ kind, name }).success ? { kind, name } : { name };
}

function withoutUndefined(entries: readonly [string, unknown][]): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function withoutDefault(schema: z.ZodType): z.ZodType {
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable;
  return isWrapped ? withoutDefault(anySchema.parse(schema.unwrap())) : schema;
}
