/** Errors as values: created where the fact is known, rendered in one place (error-handler.ts). */
import { ERROR_STATUS, type ErrorCode, type Refusal } from '../../resources/definition/errors.ts';

export type Details = Readonly<Record<string, string>>;

/** An error of the catalogue. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly details: Details;
  readonly headers: Readonly<Record<string, string>>;
  /** Details that repeat no part of the request, so that they may be logged. */
  readonly fixed: Details;

  constructor(
    code: ErrorCode,
    message: string,
    details: Details = {},
    headers: Record<string, string> = {},
    fixed: Details = {},
  ) {
    super(message);
    this.code = code;
    this.details = details;
    this.headers = headers;
    this.fixed = fixed;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** The service is too busy for the request. Nothing has failed, and such errors may be very frequent. */
export class Overload extends ApiError {}

/** A request that did not arrive in time. Clients can cause any number of these, so not every one is logged. */
export class LateRequest extends ApiError {}

/** Thrown to abandon a request whose client has gone or already has an error response. */
export class RequestAborted extends Error {
  override readonly name = 'RequestAborted';

  constructor() {
    super('the client no longer waits for a response');
  }
}

/** Longest name of a member in a pointer. Only names that clients choose, such as the keys of labels, are longer. */
const MAX_NAME = 128;

/**
 * The JSON pointer (RFC 6901) by which errors name a member of a body. Names are cut before they are escaped, since a
 * client may send one as long as a body.
 */
export const pointerTo = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${cut(String(part), MAX_NAME).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const cut = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length)}…`);

/** Seconds after which a client may ask again. */
const RETRY_AFTER = '1';

export const unavailable = (message: string) =>
  new ApiError('UNAVAILABLE', message, {}, { 'retry-after': RETRY_AFTER });

export const lateRequest = () =>
  new LateRequest('UNAVAILABLE', 'The request did not arrive in time; try again.', {}, { 'retry-after': RETRY_AFTER });

/** @param message one of few texts, since the log counts by it */
export const overloaded = (message: string) => new Overload('UNAVAILABLE', message, {}, { 'retry-after': RETRY_AFTER });

/** @param seconds after which to try again */
export const rateLimited = (seconds: number, message = 'Too many requests; try again later.') =>
  new ApiError('RATE_LIMITED', message, {}, { 'retry-after': String(seconds) });

export const internalError = () =>
  new ApiError('INTERNAL_ERROR', 'Internal error; the request id identifies it in the logs of the service.');

/** RFC 9112, section 6.1. */
export const unknownTransferCoding = () =>
  new ApiError('NOT_IMPLEMENTED', 'The only supported transfer coding is "chunked"; send no other Transfer-Encoding.');

/**
 * @param problems reasons by JSON pointer of the field (`/rules/0/cidr`), `?name` of the query parameter, or
 * name of the header; `body` for the body as a whole
 * @param fixed for the log: reasons that repeat no part of the request
 */
export function invalidRequest(problems: Details, fixed: Details = {}): ApiError {
  const entries = Object.entries(problems);
  const [name, reason] = entries[0] ?? ['', ''];
  const rest = entries.length > 1 ? ` (and ${entries.length - 1} more, see details)` : '';
  return new ApiError('INVALID_REQUEST', `${name}: ${reason}${rest}`, problems, {}, fixed);
}

/** The same for refused values, by where they were sent. */
export function refused(refusals: Readonly<Record<string, Refusal>>): ApiError {
  const by = (textOf: (refusal: Refusal) => string) =>
    Object.fromEntries(Object.entries(refusals).map(([name, refusal]) => [name, textOf(refusal)]));
  return invalidRequest(
    by(({ reason }) => reason),
    by(({ reason, fixed }) => fixed ?? reason),
  );
}

/** The same for reasons that repeat no part of the request. */
export const invalidByRule = (problems: Details): ApiError => invalidRequest(problems, problems);

export const unauthenticated = (message: string) =>
  new ApiError('UNAUTHENTICATED', message, {}, { 'www-authenticate': 'Bearer' });

export const permissionDenied = (message: string, details?: Details) =>
  new ApiError('PERMISSION_DENIED', message, details);

export const notFound = (message: string, details?: Details) => new ApiError('NOT_FOUND', message, details);

export const conflict = (message: string, details?: Details) => new ApiError('CONFLICT', message, details);

export const resourceInUse = (message: string, details?: Details) => new ApiError('RESOURCE_IN_USE', message, details);
