/** What answers said beside their bodies, by the value that a caller got. */
import type { z } from 'zod';
import { strangeAnswer } from './errors.ts';
import type { ApiResponse } from './response.ts';

const etags = new WeakMap<object, string>();
const replays = new WeakSet<object>();
const dates = new WeakMap<object, Date>();

/**
 * The ETag of a resource, module or rule set as a call answered it, for `ifMatch`; undefined for what came in a list, and
 * for copies of what a call answered.
 */
export function etagOf(answered: object): string | undefined {
  return etags.get(answered);
}

/**
 * Whether a create was answered with what an earlier one under its idempotency key was answered: the resource may have
 * changed since.
 */
export function isReplay(answered: object): boolean {
  return replays.has(answered);
}

/** When the API sent what a call answered, by its own clock and to the second; undefined if it did not say. */
export function sentAt(answered: object): Date | undefined {
  return dates.get(answered);
}

/** The body as this schema reads it. @throws ApiUnreachableError when it does not match */
export function read<T extends z.ZodType>(schema: T, answer: ApiResponse): z.output<T> {
  const { status, body } = answer;
  const { success, data: value, error } = schema.safeParse(body);
  if (!success) {
    // Only the path and what was expected: a value may be a token.
    const [issue] = error.issues;
    const detail = `the body's ${issue?.path.join('.') || 'form'}: ${issue?.message}`;
    throw strangeAnswer({ answer: `${status} with JSON of another form`, detail, status });
  }
  return remember(value, answer);
}

/** Keeps what the answer said of this part of its body. */
export function remember<T>(value: T, { etag, replayed, date }: Pick<ApiResponse, 'etag' | 'replayed' | 'date'>): T {
  if (value === null || typeof value !== 'object') return value;
  if (etag !== undefined) etags.set(value, etag);
  if (replayed) replays.add(value);
  if (date !== undefined) dates.set(value, date);
  return value;
}
