/** Fields that hold ids of other resources: requests name them by id, responses show them as Refs. */
import { z } from 'zod';
import { distinct } from '../formats/distinct.ts';
import { idOf } from './id.ts';
import { type OrNone, orNone } from './none.ts';
import { type Address, type Field, field, type Presence, type ReferencedFamily, ref } from './resource.ts';

type Ref = z.output<typeof ref>;

/** The Ref of a resource; the prefix of its id identifies the family. */
export function refOf(targets: readonly ReferencedFamily[], id: string, base: string): Ref {
  const prefix = id.slice(0, id.lastIndexOf('_'));
  const target = targets.find((each) => each.prefix === prefix);
  return { id, uri: `${base}${target?.path ?? ''}/${id}` };
}

type Pointing<F extends Field, As extends string> = F & {
  readonly as: As;
  readonly refersTo: readonly ReferencedFamily[];
  readonly show: NonNullable<Field['show']>;
};

type OptionalRef<C extends Presence> = Field<z.ZodNullable<typeof ref>, OrNone<z.ZodString>, C, true>;

/** An id that may be left out; shows as a Ref or null. */
export function optionalReference<const As extends string>(
  refersTo: readonly ReferencedFamily[],
  as: As,
  description: string,
): Pointing<OptionalRef<'optional'>, As> {
  return { ...nullableRef(refersTo, as, description), onCreate: 'optional' };
}

/** An id that only an update can set; shows as a Ref or null. */
export function laterReference<const As extends string>(
  refersTo: readonly ReferencedFamily[],
  as: As,
  description: string,
): Pointing<OptionalRef<'derived'>, As> {
  return { ...nullableRef(refersTo, as, description), onCreate: 'derived' };
}

function nullableRef<As extends string>(refersTo: readonly ReferencedFamily[], as: As, description: string) {
  const id = idOf(...refersTo.map(({ prefix }) => prefix)).meta({ description });
  const show = (stored: unknown, { base }: Address) =>
    typeof stored === 'string' ? refOf(refersTo, stored, base) : null;
  return { ...field(z.nullable(ref), orNone(id), 'optional', true, null), as, refersTo, show };
}

/** An id that must be given; shows as a Ref. */
export function requiredReference<const As extends string>(
  refersTo: readonly ReferencedFamily[],
  as: As,
  description: string,
): Pointing<Field<typeof ref, z.ZodString, 'required', true>, As> {
  const id = idOf(...refersTo.map(({ prefix }) => prefix)).meta({ description });
  const spec = field(ref, id, 'required', true, null);
  return { ...spec, as, refersTo, show: showOne(refersTo) };
}

type Owned<F extends Field, As extends string> = F & { readonly as: As; readonly show: NonNullable<Field['show']> };

/**
 * The id of the resource that this one is a part of: required and immutable; shows as a Ref. It does not block deletion
 * of the whole, which deletes its parts.
 */
export function belongsTo<const As extends string>(
  whole: ReferencedFamily,
  as: As,
  description: string,
): Owned<Field<typeof ref, z.ZodString, 'required', false>, As> {
  return {
    ...field(ref, idOf(whole.prefix).meta({ description }), 'required', false, null),
    as,
    show: showOne([whole]),
  };
}

/** The same where the path has the id (`parent`), so that no body carries it. */
export function livesIn<const As extends string>(
  whole: ReferencedFamily,
  as: As,
  description: string,
): Owned<Field<typeof ref, z.ZodNever, 'derived', false>, As> {
  return { ...field(ref.meta({ description }), z.never(), 'derived', false, null), as, show: showOne([whole]) };
}

type Ids = z.ZodArray<z.ZodString>;
type RefList<I extends z.ZodType, C extends Presence> = Field<z.ZodArray<typeof ref>, I, C, true>;

/** How many ids a list may have. */
interface Bounds {
  min?: number;
  max: number;
}

/** Distinct ids, empty when left out; show as Refs, in the given order. */
export function references<const As extends string>(
  refersTo: readonly ReferencedFamily[],
  as: As,
  description: string,
  bounds: Bounds,
): Pointing<RefList<z.ZodNullable<Ids>, 'optional'>, As> {
  const spec = field(z.array(ref), z.nullable(idList(refersTo, description, bounds)), 'optional', true, []);
  return { ...spec, as, refersTo, show: showAll(refersTo) };
}

/** The same, but required. */
export function requiredReferences<const As extends string>(
  refersTo: readonly ReferencedFamily[],
  as: As,
  description: string,
  bounds: Bounds,
): Pointing<RefList<Ids, 'required'>, As> {
  const spec = field(z.array(ref), idList(refersTo, description, bounds), 'required', true, []);
  return { ...spec, as, refersTo, show: showAll(refersTo) };
}

function idList(refersTo: readonly ReferencedFamily[], description: string, { min = 0, max }: Bounds): Ids {
  const ids = z.array(idOf(...refersTo.map(({ prefix }) => prefix))).max(max, `must have at most ${max} ids`);
  return distinct(ids)
    .min(min, `must have at least ${min} id${min === 1 ? '' : 's'}`)
    .meta({ description });
}

const showOne =
  (refersTo: readonly ReferencedFamily[]) =>
  (value: unknown, { base }: Address) =>
    refOf(refersTo, String(value), base);

const showAll =
  (refersTo: readonly ReferencedFamily[]) =>
  (value: unknown, { base }: Address) =>
    idsOf(value).map((id) => refOf(refersTo, id, base));

const stored = z.array(z.string());

/** The ids in a stored reference field: none, one or many. */
export function idsOf(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  return typeof value === 'string' ? [value] : stored.parse(value);
}
