/** What a call of the management API can fail with. */
import type { ErrorBody, ErrorCode } from '../resources/definition/errors.ts';

/** The API answered with an error of its catalogue. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: number;
  /** JSON pointers of bad fields, ids, the request id. */
  readonly details: Readonly<Record<string, string>>;
  /** Milliseconds that the API asked to wait, when it did. */
  readonly retryAfterMs: number | undefined;

  constructor(body: ErrorBody, retryAfterMs?: number) {
    super(body.msg);
    this.code = body.error_code;
    this.status = body.status_code;
    this.details = body.details;
    this.retryAfterMs = retryAfterMs;
  }

  /** Transient trouble is always 429 or 5xx; no other answer changes by asking again. */
  get transient(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

/**
 * No usable answer: connection refused or cut, timeout, or an answer that is not the API's (a proxy's error page).
 * Whether the request took effect is unknown.
 */
export class ApiUnreachableError extends Error {
  override readonly name = 'ApiUnreachableError';
  /** What was answered instead, as in `502 with text/html`; never its body, which may hold a token. */
  readonly answer: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: {
      cause?: unknown;
      answer?: string;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.answer = options.answer;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** For an answer that the management API would not give. */
export function strangeAnswer(seen: {
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
