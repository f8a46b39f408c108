/** Request ids: the caller's, if it is harmless in a log line, or a new one. */
import { randomUUID } from 'node:crypto';

const HARMLESS = /^[A-Za-z0-9._:/+=-]{1,128}$/;

export function newRequestId(): string {
  return randomUUID();
}

/** The id of a request with this X-Request-Id header. */
export function requestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && HARMLESS.test(header) ? header : newRequestId();
}
