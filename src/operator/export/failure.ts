/** Why a command could not do its work, where that is not its own fault: one line, and no stack trace. */
import { ApiError, ApiUnreachableError } from '../../client/client.ts';
import { CannotStart } from '../../settings/cannot-start.ts';

/** @returns what to throw */
export function cannotUseApi(error: unknown, apiUrl: string): unknown {
  if (!(error instanceof ApiError || error instanceof ApiUnreachableError)) return error;
  return new CannotStart(`the management API at ${apiUrl}: ${error.message}`, { cause: error });
}
