/** Errors of calls to the management API. */
import type { ErrorBody, ErrorCode } from '../resources/definition/errors.ts';

/** An error response of the API. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: number;
  /** JSON pointers of bad fields, ids, the request id. */
  readonly details: Readonly<Record<string, string>>;
  /** Milliseconds to wait, if the API asked for that. */
  readonly retryAfterMs: number | undefined;

  constructor(body: ErrorBody, retryAfterMs?: number) {
    super(body.msg);
    this.code = body.error_code;
    this.status = body.status_code;
    this.details = body.details;
    this.retryAfterMs = retryAfterMs;
  }

  /** Transient errors are always 429 or 5xx; retrying others does not help. */
  get transient(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

/**
 * No usable response: the connection was refused or cut, the call timed out, or something else responded, such as a proxy
 * with an error page. Whether the request took effect is unknown.
 */
export class ApiUnreachableError extends Error {
  override readonly name = 'ApiUnreachableError';
  /** The unusable response, as in `502 with text/html`; never its body, which may contain a token. */
  readonly answer: string | undefined;
  /** Why no connection came about, if that is known. */
  readonly connection: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: {
      cause?: unknown;
      answer?: string;
      connection?: string | undefined;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.answer = options.answer;
    this.connection = options.connection;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** For a response that does not come from the management API. */
export function unusableResponse(seen: {
  answer: string;
  detail: string;
  status: number;
  retryAfterMs?: number | undefined;
}): ApiUnreachableError {
  const { answer, detail, ...options } = seen;
  const message = `answered ${answer}; is that the management API? (${detail})`;
  return new ApiUnreachableError(message, { answer, ...options });
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'NOT_FOUND';
}
