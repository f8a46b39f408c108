/** The fields of a family, with the names and schemas that they have in a kind. */
import { z } from 'zod';
import { takesNull, withoutNone } from '../../resources/definition/none.ts';
import { requiredReference } from '../../resources/definition/reference.ts';
import type { Field, Resource } from '../../resources/definition/resource.ts';
import { refTo, sourceOf } from '../managed/declaration/input-schemas.ts';
import { camelCase } from '../managed/declaration/spec-terms.ts';
import { type Leaf, namesIn, requestShape, withCamelCase } from './spelling.ts';

/** The part of a family that a kind needs. */
export type Family = Pick<
  Resource,
  'name' | 'title' | 'prefix' | 'description' | 'access' | 'fields' | 'parent' | 'samples'
> &
  Partial<Pick<Resource, 'deletableWhileReferenced'>>;

export interface FamilyField {
  readonly field: Field;
  /** In requests. */
  readonly name: string;
  /** In responses. */
  readonly shownAs: string;
  /** In the spec or the status of the kind. */
  readonly member: string;
}

/** All fields except those in `omit`. Those of a nested family include the id of its parent. */
export function familyFields(
  { fields, parent }: Pick<Family, 'fields'> & Partial<Pick<Family, 'parent'>>,
  omit: readonly string[] = [],
): FamilyField[] {
  const whole = parent && {
    [parent.parameter]: {
      ...requiredReference([parent.of], 'parent', fields[parent.parameter]?.view.description ?? ''),
      onUpdate: false,
    },
  };
  return Object.entries<Field>({ ...fields, ...whole })
    .filter(([name]) => !omit.includes(name))
    .map(([name, field]) => ({
      field,
      name,
      shownAs: fields[name]?.as ?? name,
      member: memberOf(name, field),
    }));
}

/** `certificate_id` becomes `certificateRef`, `ip_policy_ids` becomes `ipPolicyRefs`. */
function memberOf(name: string, { refersTo }: Field): string {
  return camelCase(refersTo ? name.replace(/_id(s?)$/, '_ref$1') : name);
}

/** The members of a spec by the names of the API's fields, at any depth. */
export function memberNames(fields: readonly FamilyField[]): Map<string, string> {
  const within = fields.flatMap((given) => namesIn(inputOf(given)).map((name) => [name, camelCase(name)] as const));
  return new Map([...within, ...fields.map(({ name, member }) => [name, member] as const)]);
}

/** Whether a spec can set the field; otherwise only the service does. */
export const isDeclarable = ({ field }: FamilyField) => field.onCreate !== 'derived' || field.onUpdate;

export const isNullable = ({ field }: FamilyField) => takesNull(field.input);

/** The schema of the field in a request, without null. */
export const inputOf = ({ field }: FamilyField): z.ZodType => withoutNone(field.input);

/**
 * The schema of the field in a spec: other resources by reference, and text that may be long or secret by source.
 * @param sources names of the fields, at any depth, that are given by source
 */
export function specSchemaOf(given: FamilyField, sources: readonly string[] = []): z.ZodType {
  const { field, name } = given;
  const input = inputOf(given);
  if (field.refersTo) return referenceSchema(given, field.refersTo);
  if (sources.includes(name)) return sourcesOf(input);
  const leaf: Leaf = (member, schema) => (sources.includes(member) ? sourcesOf(withoutNone(schema)) : undefined);
  return withCamelCase(input, leaf);
}

/** A source; for a map, a source for each value. */
function sourcesOf(input: z.ZodType): z.ZodType {
  const shape = requestShape(input);
  if (!(shape instanceof z.ZodRecord)) return sourceOf(input);
  const { description, 'x-form': form } = input.meta() ?? {};
  const { additionalProperties: values, ...rest } = z.record(z.string(), z.unknown()).catch({}).parse(form);
  const value = z.string().max(MAX_MAP_VALUE).meta({ description: 'Value of one header.', 'x-form': values });
  return z.record(z.string(), sourceOf(value)).meta({ description, 'x-form': rest });
}

/** The API has tighter limits for all values together. */
const MAX_MAP_VALUE = 16_384;

function referenceSchema(given: FamilyField, targets: NonNullable<Field['refersTo']>): z.ZodType {
  const input = inputOf(given);
  const what = targets.map(({ title }) => title).join(' or ');
  const { description = `The ${what}.` } = input;
  if (!(input instanceof z.ZodArray)) return refTo(targets, description);
  const { minItems, maxItems } = z
    .looseObject({ minItems: z.int().optional(), maxItems: z.int() })
    .parse(z.toJSONSchema(input));
  const list = z.array(refTo(targets, `One ${what}.`)).max(maxItems);
  return (minItems === undefined ? list : list.min(minItems)).meta({ description });
}

/** Why a spec cannot use the field as the family declares it, if so. */
export function specialty(given: FamilyField, sources: readonly string[]): string | undefined {
  const { field, name } = given;
  const isSecret = field.sealed || (isDeclarable(given) && field.storage === 'none');
  return isSecret && !sources.includes(name) ? 'is a secret' : undefined;
}
