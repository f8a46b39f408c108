/** Turns failures of the API and the cluster into one line without a stack trace; a bug of the command keeps its own. */
import { ApiError, ApiUnreachableError } from '../../client/client.ts';
import { CannotStart } from '../../settings/cannot-start.ts';
import { KubeError, KubeUnreachableError } from '../kube/kube-error.ts';

/** @returns what to throw */
export function cannotUseApi(error: unknown, apiUrl: string): unknown {
  if (!(error instanceof ApiError || error instanceof ApiUnreachableError)) return error;
  return new CannotStart(`the management API at ${apiUrl}: ${error.message}`, { cause: error });
}

/** @returns what to throw */
export function cannotUseCluster(error: unknown): unknown {
  if (!(error instanceof KubeError || error instanceof KubeUnreachableError)) return error;
  return new CannotStart(`the cluster: ${error.message}`, { cause: error });
}
