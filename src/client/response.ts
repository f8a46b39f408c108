/** Reads a response: a body of the API, one of its errors, or neither. */
import type { HttpResponse } from '../http-request.ts';
import { ERROR_STATUS, type ErrorBody, errorBody, UNKNOWN_PATH } from '../resources/definition/errors.ts';
import { IDEMPOTENCY_REPLAYED_HEADER } from '../resources/definition/idempotency.ts';
import { parseRetryAfter } from '../retry/retry-after.ts';
import { ApiError, unusableResponse } from './errors.ts';
import type { ApiRequest } from './request.ts';

export interface ApiResponse {
  status: number;
  body: unknown;
  etag: string | undefined;
  /** Whether it replays the response to an earlier create under the same idempotency key. */
  replayed: boolean;
  /** When it was sent, by the clock of the API. */
  date: Date | undefined;
}

/** @throws ApiError, ApiUnreachableError */
export function readResponse(call: ApiRequest, response: HttpResponse): ApiResponse {
  const { method, path } = call;
  const { statusCode: status, headers, text } = response;
  const retryAfterMs = parseRetryAfter(headers['retry-after']?.toString(), Date.now());
  const body = parseJson(text);
  // Only a deletion that goes on after the response has a body.
  const isDeleted = status === 204 || (status === 202 && body !== undefined);
  const isAsDocumented = method === 'DELETE' ? isDeleted : status !== 204 && body !== undefined;
  if (status < 300 && isAsDocumented) {
    const etag = headers.etag?.toString();
    const replayed = IDEMPOTENCY_REPLAYED_HEADER in headers;
    return { status, body, etag, replayed, date: parseDate(headers.date?.toString()) };
  }
  const { data: error } = errorBody.safeParse(body);
  if (error && isOffItsPaths(error)) {
    const answer = `${status}, since it has no such path`;
    throw unusableResponse({ answer, detail: `${method} ${path}`, status, retryAfterMs });
  }
  // A proxy has changed the status if it does not match the body: a 503 must not count as "not found".
  if (error?.status_code === status && ERROR_STATUS[error.error_code] === status) {
    throw new ApiError(error, retryAfterMs);
  }
  const [mediaType = ''] = headers['content-type']?.toString().split(';') ?? [];
  const answer = text === '' ? `${status} without a body` : `${status} with ${mediaType || 'a body of unknown type'}`;
  const detail = `${method} ${path}, ${Buffer.byteLength(text)} bytes`;
  throw unusableResponse({ answer, detail, status, retryAfterMs });
}

/** The base URL leads to the API, but not to its root. */
function isOffItsPaths({ error_code: code, details }: ErrorBody): boolean {
  return code === 'METHOD_NOT_ALLOWED' || (code === 'NOT_FOUND' && details.path === UNKNOWN_PATH.path);
}

function parseDate(header: string | undefined): Date | undefined {
  const date = new Date(header ?? '');
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Undefined if it is not JSON. The parser's error would quote the text, which may contain a token. */
function parseJson(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
