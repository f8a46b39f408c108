import { expect, test } from 'vitest';
import { ERROR_STATUS } from '../../../src/resources/definition/errors.ts';

test('every code has the status that clients know it by', () => {
  expect(ERROR_STATUS).toEqual({
    INVALID_REQUEST: 400,
    UNAUTHENTICATED: 401,
    PERMISSION_DENIED: 403,
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
    UNAVAILABLE: 503,
  });
});
