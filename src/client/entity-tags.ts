/** What answers said beside their bodies, by the value that a caller got. */
import type { z } from 'zod';
import type { ApiResponse } from './transport.ts';

const etags = new WeakMap<object, string>();
const replays = new WeakSet<object>();

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

/** The body as this schema reads it. */
export function read<T extends z.ZodType>(schema: T, answer: ApiResponse): z.output<T> {
  return remember(schema.parse(answer.body), answer);
}

/** Keeps what the answer said of this part of its body. */
export function remember<T>(value: T, { etag, replayed }: Pick<ApiResponse, 'etag' | 'replayed'>): T {
  if (value === null || typeof value !== 'object') return value;
  if (etag !== undefined) etags.set(value, etag);
  if (replayed) replays.add(value);
  return value;
}
