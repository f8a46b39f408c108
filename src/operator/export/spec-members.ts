/** What a resource has in the members of its kind's spec, as the API shows it: one function for each form of kind. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Field, isShown } from '../../resources/definition/resource.ts';
import type { AttachedKind } from '../kinds/attached-kind.ts';
import { type FamilyField, familyFields, isDeclarable } from '../kinds/family-fields.ts';
import type { AnyPlainKind } from '../kinds/plain-kind.ts';
import type { Remote } from '../managed/declaration/external.ts';
import { managedSpec } from '../managed/declaration/spec.ts';

export interface SpecMember {
  readonly name: string;
  readonly schema: z.ZodType;
  /** Undefined if no response shows it. */
  readonly shown: unknown;
  /** What the resource has if the spec leaves the member out. */
  readonly initial: unknown;
  /** The ids, if the member refers to other resources. */
  readonly refersTo: 'nothing' | 'one' | 'many';
  /** Whether the text in it must not be seen. */
  readonly isSecret: boolean;
  /** The settings, if the member is a module. */
  readonly settings?: readonly SpecMember[];
}

/** A kind whose spec is derived from what the API shows. */
export type DerivedKind = AnyPlainKind | AttachedKind;

export const isAttached = (kind: DerivedKind): kind is AttachedKind => 'ownerFamily' in kind;

/** The members of the spec that belong to the kind alone, with their schemas. */
export function ownMembers(kind: Pick<DerivedKind, 'kind' | 'spec'>): [name: string, schema: z.ZodType][] {
  return membersOf(kind.spec, kind.kind).filter(([name]) => !(name in managedSpec));
}

export function specMembers(kind: DerivedKind, remote: Remote): SpecMember[] {
  if (isAttached(kind)) return moduleMembers(kind, remote);
  const fields = new Map(
    familyFields(kind.family)
      .filter(isDeclarable)
      .map((given) => [given.member, given]),
  );
  return ownMembers(kind).map(([name, schema]) => memberOf(name, schema, fields.get(name), remote));
}

/**
 * The members that an object must have to leave the resource unchanged.
 * @param now by the clock of the API
 */
export function exportedMembers(kind: DerivedKind, remote: Remote, now: Date): SpecMember[] {
  const chosen = isAttached(kind) ? [] : (kind.chosenByService?.(remote, now) ?? []);
  return specMembers(kind, remote).filter(({ name }) => !chosen.includes(name));
}

const withModules = z.object({ modules: z.record(z.string(), z.looseObject({})) });

function moduleMembers({ modules, ownerRef, ...kind }: AttachedKind, owner: Remote): SpecMember[] {
  const shown = withModules.safeParse(owner).data?.modules ?? {};
  const none = { initial: undefined, refersTo: 'nothing', isSecret: false } as const;
  return ownMembers(kind).map(([name, schema]): SpecMember => {
    if (name === ownerRef) return { ...none, name, schema, shown: owner.id || undefined, refersTo: 'one' };
    const module = modules.find(({ member }) => member === name);
    if (!module) throw new Error(`${kind.kind} has no module ${name}`);
    const settings = shown[module.name];
    const fields = new Map(module.fields.map((given) => [given.member, given]));
    return {
      ...none,
      name,
      schema,
      shown: settings,
      settings: membersOf(schema, name).map(([each, of]) => memberOf(each, of, fields.get(each), settings ?? {})),
    };
  });
}

function memberOf(name: string, schema: z.ZodType, given: FamilyField | undefined, remote: object): SpecMember {
  const observed = new Map<string, unknown>(Object.entries(remote));
  // A special kind observes members that the family lacks under their own names.
  if (!given)
    return { name, schema, shown: observed.get(name), initial: undefined, refersTo: 'nothing', isSecret: false };
  const { field, shownAs } = given;
  const shown = observed.get(shownAs);
  return {
    name,
    schema,
    shown: isShown(field) ? shown : undefined,
    initial: field.initial,
    refersTo: !field.refersTo ? 'nothing' : Array.isArray(shown) ? 'many' : 'one',
    isSecret: field.sealed === true || !isShown(field) || hasSecretParts(field, shown),
  };
}

function membersOf(schema: z.ZodType, name: string): [name: string, schema: z.ZodType][] {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodObject)) throw new Error(`the spec of ${name} has no members`);
  return Object.entries<z.ZodType>(inner.shape);
}

const hasSecretParts = ({ shorten }: Field, shown: unknown) =>
  shorten !== undefined && shown !== undefined && !isDeepStrictEqual(shorten(shown), shown);
