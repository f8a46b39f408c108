/** The error catalogue: all error codes of the API, their HTTP status, and the shape of the body. */
import { z } from 'zod';

export const ERROR_STATUS = {
  INVALID_REQUEST: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  QUOTA_EXCEEDED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  RESOURCE_IN_USE: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  NOT_IMPLEMENTED: 501,
  UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const errorBody = z
  .object({
    error_code: z
      .enum(Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]])
      .meta({ description: 'What kind of error it is, for programs.' }),
    status_code: z.int().meta({ description: 'HTTP status of the response.' }),
    msg: z.string().meta({ description: 'What went wrong, for people.' }),
    details: z.record(z.string(), z.string()).meta({
      description: 'More about the error: a reason for each bad field (by JSON pointer), related ids, the request id.',
    }),
  })
  .meta({ id: 'Error' });

export type ErrorBody = z.output<typeof errorBody>;

/** The details of a 404 for a path that the API does not have, unlike one for a resource that does not exist. */
export const UNKNOWN_PATH = { path: 'does not exist' } as const;

/** Why a value is refused. */
export interface Refusal {
  reason: string;
  /** The reason without quotes from the request, if it has any; only this may be logged. */
  fixed?: string;
}
