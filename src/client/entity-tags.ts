/** The ETags that answers came with, by the value that a caller got. */
import type { z } from 'zod';
import { strangeAnswer } from './errors.ts';
import type { ApiResponse } from './transport.ts';

const etags = new WeakMap<object, string>();

/**
 * The ETag of a resource or module as a call answered it, for `ifMatch`; undefined for what came in a list, and for copies
 * of what a call answered.
 */
export function etagOf(answered: object): string | undefined {
  return etags.get(answered);
}

/** The body as this schema reads it. @throws ApiUnreachableError when it does not match */
export function read<T extends z.ZodType>(schema: T, { status, body, etag }: ApiResponse): z.output<T> {
  const { success, data: value, error } = schema.safeParse(body);
  if (!success) {
    // Only the path and what was expected: a value may be a token.
    const [issue] = error.issues;
    const detail = `the body's ${issue?.path.join('.') || 'form'}: ${issue?.message}`;
    throw strangeAnswer({ answer: `${status} with JSON of another form`, detail, status });
  }
  if (etag !== undefined && value !== null && typeof value === 'object') etags.set(value, etag);
  return value;
}
