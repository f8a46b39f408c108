/** Fields that hold ids of other resources: requests name them by id, responses show them as Refs. */
import { z } from 'zod';
import { idOf } from './id.ts';
import { type Address, type Field, field, type Presence, ref, type Target } from './resource.ts';

type Ref = z.output<typeof ref>;

/** The Ref of a resource, whose family its prefix tells. */
export function refOf(targets: readonly Target[], id: string, base: string): Ref {
  const prefix = id.slice(0, id.lastIndexOf('_'));
  const target = targets.find((each) => each.prefix === prefix);
  return { id, uri: `${base}${target?.path ?? ''}/${id}` };
}

type Pointing<F extends Field, As extends string> = F & {
  readonly as: As;
  readonly refersTo: readonly Target[];
  readonly show: NonNullable<Field['show']>;
};

const about = (targets: readonly Target[]) => targets.map(({ prefix }) => `\`${prefix}_\``).join(' or ');

/** An id that may be left out; shows as a Ref or null. */
export function optionalReference<const As extends string, C extends Presence = 'optional'>(
  refersTo: readonly Target[],
  as: As,
  options: { description?: string; onCreate?: C } = {},
): Pointing<Field<z.ZodNullable<typeof ref>, z.ZodNullable<z.ZodString>, C, true>, As> {
  const { description = `Id with the prefix ${about(refersTo)}.`, onCreate = 'optional' } = options;
  const id = idOf(...refersTo.map(({ prefix }) => prefix)).meta({ description });
  const spec = field(z.nullable(ref), z.nullable(id), onCreate as C, true, null);
  const show = (stored: unknown, { base }: Address) =>
    typeof stored === 'string' ? refOf(refersTo, stored, base) : null;
  return { ...spec, as, refersTo, show };
}

/** An id that must be given; shows as a Ref. */
export function requiredReference<const As extends string>(
  refersTo: readonly Target[],
  as: As,
): Pointing<Field<typeof ref, z.ZodString, 'required', true>, As> {
  const id = idOf(...refersTo.map(({ prefix }) => prefix));
  const spec = field(ref, id, 'required', true, null);
  return { ...spec, as, refersTo, show: (stored, { base }) => refOf(refersTo, String(stored), base) };
}

/** Ids without repetition; show as Refs, in the given order. */
export function references<const As extends string, C extends Presence = 'optional'>(
  refersTo: readonly Target[],
  as: As,
  options: { max: number; min?: number; onCreate?: C; description?: string },
): Pointing<Field<z.ZodArray<typeof ref>, z.ZodType<string[] | null, string[] | null>, C, true>, As> {
  const { max, min = 0, onCreate = 'optional', description = `Ids with the prefix ${about(refersTo)}.` } = options;
  const ids = distinct(z.array(idOf(...refersTo.map(({ prefix }) => prefix))).max(max, `must have at most ${max} ids`))
    .min(min, `must have at least ${min} id${min === 1 ? '' : 's'}`)
    .meta({ description });
  const input = onCreate === 'required' ? ids : z.nullable(ids);
  const spec = field(z.array(ref), input as z.ZodType<string[] | null, string[] | null>, onCreate as C, true, []);
  const show = (stored: unknown, { base }: Address) => idsOf(stored).map((id) => refOf(refersTo, id, base));
  return { ...spec, as, refersTo, show };
}

const stored = z.array(z.string());

/** The ids in a stored reference field: none, one or many. */
export function idsOf(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  return typeof value === 'string' ? [value] : stored.parse(value);
}

/** Refuses members that repeat an earlier one, each at its index. */
export function distinct<T extends z.ZodType>(array: z.ZodArray<T>): z.ZodArray<T> {
  return array.superRefine((members, context) => {
    members.forEach((member, index) => {
      const first = members.indexOf(member);
      if (first !== index) {
        context.addIssue({ code: 'custom', path: [index], message: `is already at index ${first}`, input: member });
      }
    });
  });
}
