/** Why no connection came about, in words. */
import { codeOf } from '../errors.ts';

/** Undefined for any other error. */
export function connectionProblem(error: unknown, url: URL): string | undefined {
  switch (codeOf(error)) {
    case 'ENOTFOUND':
      return `host ${url.hostname} not found`;
    case 'ECONNREFUSED':
      return `connection to ${url.host} refused`;
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return `${url.host} answers without TLS: is it http://?`;
    default:
      return undefined;
  }
}
