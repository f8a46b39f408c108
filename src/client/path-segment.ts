/** Ids as parts of a path. */
import { ApiError } from './errors.ts';

const NO_SUCH_ID = {
  error_code: 'NOT_FOUND',
  status_code: 404,
  msg: 'no resource has such an id',
  details: {},
} as const;

/**
 * The id as one segment of a path. A slash is refused, since proxies may decode an escaped one.
 * @throws ApiError (NOT_FOUND) for an id that would lead to another path
 */
export function segment(id: string): string {
  if (['', '.', '..'].includes(id) || id.includes('/')) throw new ApiError(NO_SUCH_ID);
  return encodeURIComponent(id);
}
