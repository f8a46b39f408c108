/** The ETags that answers came with, by the value that a caller got. */
import type { z } from 'zod';
import type { ApiResponse } from './transport.ts';

const etags = new WeakMap<object, string>();

/**
 * The ETag of a resource or module as a call answered it, for `ifMatch`; undefined for what came in a list, and for copies
 * of what a call answered.
 */
export function etagOf(answered: object): string | undefined {
  return etags.get(answered);
}

/** The body as this schema reads it. */
export function read<T extends z.ZodType>(schema: T, { body, etag }: ApiResponse): z.output<T> {
  const value = schema.parse(body);
  if (etag !== undefined && value !== null && typeof value === 'object') etags.set(value, etag);
  return value;
}
