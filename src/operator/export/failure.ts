/** Turns failures of the API into one line without a stack trace; a bug of the command keeps its own. */
import { ApiError, ApiUnreachableError } from '../../client/client.ts';
import { CannotStart } from '../../settings/cannot-start.ts';

/** @returns what to throw */
export function cannotUseApi(error: unknown, apiUrl: string): unknown {
  if (!(error instanceof ApiError || error instanceof ApiUnreachableError)) return error;
  return new CannotStart(`the management API at ${apiUrl}: ${error.message}`, { cause: error });
}
