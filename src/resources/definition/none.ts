/**
 * "None" in requests: absent or null, in any optional field. In ids, enums and dates, "" also means none, since many typed
 * clients cannot send null. In free text, "" is a value.
 */
import { z } from 'zod';

export type OrNone<T extends z.ZodType> = z.ZodPreprocess<z.ZodNullable<T>, z.input<T> | null>;

/** An id, enum or date that may be none; none is parsed as null. */
export function orNone<T extends z.ZodType>(schema: T): OrNone<T> {
  return z.preprocess((given: z.input<T> | null) => (given === '' ? null : given), z.nullable(schema));
}

/** An optional query parameter. An empty one counts as absent, since a query has no null. */
export function emptyIsAbsent<T extends z.ZodType>(schema: T) {
  return z
    .preprocess((given: z.input<T> | undefined) => (given === '' ? undefined : given), schema.optional())
    .optional();
}

/** The schema, accepting null as well. */
export function nullable(schema: z.ZodType): z.ZodType {
  return takesNull(schema) ? schema : z.nullable(schema);
}

export const takesNull = (schema: z.ZodType) => schema.safeParse(null).success;

/** The schema without null, and without "" for none. */
export function withoutNone(input: z.ZodType): z.ZodType {
  const inner = input instanceof z.ZodPreprocess ? input.out : input;
  // unwrap() returns a schema of zod's core; all schemas here are of its classic API.
  return inner instanceof z.ZodNullable ? (inner.unwrap() as z.ZodType) : input;
}
