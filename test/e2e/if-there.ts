/** Asking the API for what may not exist. Only for test files. */
import { isNotFound } from '../../src/client/errors.ts';

/** What the call returns; undefined if the API says that there is no such thing. */
export const ifThere = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
