/** The fields of a family as a kind names them, and which of them a kind can use without code of its own. */
import { z } from 'zod';
import { takesNull, withoutNone } from '../../resources/definition/none.ts';
import type { Field, Resource } from '../../resources/definition/resource.ts';
import { camelCase } from '../managed/camel-case.ts';

/** The part of a family that a kind needs. */
export type Family = Pick<Resource, 'name' | 'prefix' | 'description' | 'access' | 'fields' | 'parent' | 'samples'>;

export interface FamilyField {
  readonly field: Field;
  /** In requests. */
  readonly name: string;
  /** In responses. */
  readonly shownAs: string;
  /** In the spec or the status of the kind. */
  readonly member: string;
}

/** All fields except those named in `omit`. */
export function familyFields({ fields }: Pick<Family, 'fields'>, omit: readonly string[] = []): FamilyField[] {
  return Object.entries(fields)
    .filter(([name]) => !omit.includes(name))
    .map(([name, field]) => ({ field, name, shownAs: field.as ?? name, member: camelCase(name) }));
}

/** Whether a spec may set the field; if not, only the service does. */
export const isDeclarable = ({ field }: FamilyField) => field.onCreate !== 'derived' || field.onUpdate;

export const isNullable = ({ field }: FamilyField) => takesNull(field.input);

/** The schema of the field in a request, without null. */
export const inputOf = ({ field }: FamilyField): z.ZodType => withoutNone(field.input);

/** Why a spec cannot use the field as the family declares it; undefined if it can. */
export function specialty(given: FamilyField): string | undefined {
  const { field } = given;
  if (field.refersTo) return 'refers to other resources';
  if (field.sealed || (isDeclarable(given) && field.storage === 'none')) return 'is a secret';
  if (isDeclarable(given) && hasSnakeCase(z.toJSONSchema(inputOf(given), { io: 'input', unrepresentable: 'any' }))) {
    return 'has members whose names are not in camelCase';
  }
  return undefined;
}

/** Whether a JSON schema has properties that are not in camelCase. */
function hasSnakeCase(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return Object.entries(schema).some(([keyword, value]) => {
    const isNamed = keyword === 'properties' && Object.keys(value ?? {}).some((name) => name !== camelCase(name));
    return isNamed || (keyword !== 'examples' && hasSnakeCase(value));
  });
}
