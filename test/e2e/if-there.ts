/** Asks the API for resources that may not exist. Only for test files. */
import { isNotFound } from '../../src/client/errors.ts';

/** The result of the call; undefined if the resource does not exist. */
export const ifThere = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
