/** The one place where an id becomes part of a path. */
import { ApiError } from './errors.ts';

const NO_SUCH_ID = {
  error_code: 'NOT_FOUND',
  status_code: 404,
  msg: 'no resource has such an id',
  details: {},
} as const;

/**
 * The id as one segment of a path. Without a slash: proxies may take an escaped one for a plain one.
 * @throws ApiError (NOT_FOUND) for what leads to another path, whose resource nobody has named
 */
export function segment(id: string): string {
  if (['', '.', '..'].includes(id) || id.includes('/')) throw new ApiError(NO_SUCH_ID);
  return encodeURIComponent(id);
}
