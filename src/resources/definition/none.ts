/**
 * "None" in requests. For every optional field, absent and null mean it; for ids, enums and dates "" does, too, since many
 * typed clients drop null and can say nothing else. For free text, "" is a value.
 */
import { z } from 'zod';

export type OrNone<T extends z.ZodType> = z.ZodPreprocess<z.ZodNullable<T>, z.input<T> | null>;

/** An id, enum or date that may be none: null once it is parsed. */
export function orNone<T extends z.ZodType>(schema: T): OrNone<T> {
  return z.preprocess((given: z.input<T> | null) => (given === '' ? null : given), z.nullable(schema));
}

/** A query parameter, which may be left out: an empty one counts as not sent, since a query has no null. */
export function emptyIsAbsent<T extends z.ZodType>(schema: T) {
  return z
    .preprocess((given: z.input<T> | undefined) => (given === '' ? undefined : given), schema.optional())
    .optional();
}

/** The schema, taking null as well. */
export function nullable(schema: z.ZodType): z.ZodType {
  return takesNull(schema) ? schema : z.nullable(schema);
}

export const takesNull = (schema: z.ZodType) => schema.safeParse(null).success;

/** The schema of a value that is there: without what lets it be none. */
export function withoutNone(input: z.ZodType): z.ZodType {
  const inner = input instanceof z.ZodPreprocess ? input.out : input;
  // unwrap() is typed as a schema of zod's core; every schema here is of the classic API.
  return inner instanceof z.ZodNullable ? (inner.unwrap() as z.ZodType) : input;
}
