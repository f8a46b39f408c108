/** Response headers of a call, by the value that it returned. */
import type { z } from 'zod';
import { unusableResponse } from './errors.ts';
import type { ApiResponse } from './response.ts';

const etags = new WeakMap<object, string>();
const replays = new WeakSet<object>();

/**
 * The ETag of a resource, module or rule set that a call returned, for `ifMatch`. Undefined for items of a list and for
 * copies of a returned value.
 */
export function etagOf(answered: object): string | undefined {
  return etags.get(answered);
}

/**
 * Whether a create got the response of an earlier one under its idempotency key. The resource may have changed since.
 */
export function isReplay(answered: object): boolean {
  return replays.has(answered);
}

/** The body, parsed. @throws ApiUnreachableError if it does not match the schema */
export function read<T extends z.ZodType>(schema: T, answer: ApiResponse): z.output<T> {
  const { status, body } = answer;
  const { success, data: value, error } = schema.safeParse(body);
  if (!success) {
    // Without the value, which may be a token.
    const [issue] = error.issues;
    const detail = `the body's ${issue?.path.join('.') || 'form'}: ${issue?.message}`;
    throw unusableResponse({ answer: `${status} with JSON of another form`, detail, status });
  }
  return remember(value, answer);
}

/** Remembers the headers of the response for this part of its body. */
export function remember<T>(value: T, { etag, replayed }: Pick<ApiResponse, 'etag' | 'replayed'>): T {
  if (value === null || typeof value !== 'object') return value;
  if (etag !== undefined) etags.set(value, etag);
  if (replayed) replays.add(value);
  return value;
}
