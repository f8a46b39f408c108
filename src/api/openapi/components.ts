/** The parts of the OpenAPI document that operations share: errors, parameters, headers. */
import { account, FIRST_ACCOUNT } from '../../resources/account.ts';
import { ERROR_STATUS, type ErrorCode, errorBody } from '../../resources/definition/errors.ts';
import { idPattern } from '../../resources/definition/id.ts';
import { idempotencyKey, idempotencyScopeName, idempotencySequence } from '../../resources/definition/idempotency.ts';
import { MANAGER_EXAMPLE, managerHeader } from '../../resources/definition/manager.ts';
import { inline, type Json, nameOf, ref } from './schemas.ts';

const MEANING: Record<ErrorCode, string> = {
  INVALID_REQUEST: 'The request is invalid. `details` lists every bad field, parameter and header.',
  UNAUTHENTICATED: 'The API key is missing, unknown or expired, or its owner is inactive.',
  PERMISSION_DENIED: 'The caller may not do this.',
  QUOTA_EXCEEDED: 'The account may have no more resources of this family.',
  NOT_FOUND: 'The resource does not exist, or is hidden from the caller.',
  METHOD_NOT_ALLOWED: 'The path does not support this method.',
  CONFLICT:
    'The request conflicts with an existing resource, another object manages it, or the idempotency key or scope is closed.',
  RESOURCE_IN_USE: 'Other resources refer to this one. `details` lists them.',
  PRECONDITION_FAILED: 'The resource has changed since the revision in If-Match.',
  PAYLOAD_TOO_LARGE: 'The body is too large.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not JSON in UTF-8, or is compressed.',
  IDEMPOTENCY_KEY_REUSED:
    'The idempotency key has been used for a different request, which created `details.resource_id`.',
  RATE_LIMITED: 'Too many requests, or too many bytes in flight. Retry after the time in Retry-After.',
  INTERNAL_ERROR: 'Internal error. `details.request_id` identifies the request in the logs.',
  NOT_IMPLEMENTED: 'The body has a transfer coding other than `chunked`.',
  UNAVAILABLE: 'Temporarily unavailable. Retry after the time in Retry-After.',
};

/** The error responses that these paths refer to. */
export function errorResponses(paths: Json): Json {
  const entry = (codes: ErrorCode[], description: string) => {
    const [code = 'INTERNAL_ERROR'] = codes;
    const retry = code === 'UNAVAILABLE' || code === 'RATE_LIMITED';
    const status_code = ERROR_STATUS[code];
    const example = { error_code: code, status_code, msg: description, details: { request_id: 'b7c1f2' } };
    return {
      description,
      headers: {
        'X-Request-Id': ref('headers', 'RequestId'),
        ...RATE_LIMIT_HEADERS,
        ...(retry ? { 'Retry-After': ref('headers', 'RetryAfter') } : {}),
      },
      content: { 'application/json': { schema: ref('schemas', nameOf(errorBody)), example } },
    };
  };
  const codes = Object.keys(MEANING) as ErrorCode[];
  const all = {
    ...Object.fromEntries(codes.map((code) => [pascal(code), entry([code], MEANING[code])])),
    Conflicting: entry(['CONFLICT', 'RESOURCE_IN_USE'], `${MEANING.CONFLICT} ${MEANING.RESOURCE_IN_USE}`),
  };
  const used = JSON.stringify(paths);
  return Object.fromEntries(Object.entries(all).filter(([name]) => used.includes(`"${ref('responses', name).$ref}"`)));
}

/** On every response to a valid key. */
export const INSTALLATION_HEADERS = { 'Installation-Id': ref('headers', 'InstallationId') };

/** On every response to a counted request: one with a valid key, or one over the limit. */
export const RATE_LIMIT_HEADERS = {
  'RateLimit-Limit': ref('headers', 'RateLimitLimit'),
  'RateLimit-Remaining': ref('headers', 'RateLimitRemaining'),
  'RateLimit-Reset': ref('headers', 'RateLimitReset'),
};

export const pascal = (code: string) =>
  code
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('');

const RESOURCE_MANAGER = {
  name: 'Resource-Manager',
  in: 'header',
  description:
    'The object in whose name the request is made. If another manager is recorded, the response is 409 and nothing changes; ' +
    'without a record, this one is recorded.',
  schema: inline(managerHeader),
  example: MANAGER_EXAMPLE,
};

export const PARAMETERS = {
  ServiceVersion: {
    name: 'Service-Version',
    in: 'header',
    description: 'Version of the API. Defaults to 2.',
    schema: { type: 'string', enum: ['2'] },
    example: '2',
  },
  Account: {
    name: 'Account',
    in: 'header',
    description:
      'The account in which to make the request. Default: that of the API key. Only admins of the first account may name another one.',
    schema: { type: 'string', pattern: `^${idPattern(account.prefix)}$` },
    example: FIRST_ACCOUNT,
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Identifies the request in logs and errors: up to 128 letters, digits and `. _ : / + = -`. The service generates ' +
      'one if it is absent or invalid.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes the create safe to repeat: the same key and body get the same response.',
    schema: inline(idempotencyKey),
    example: '0b0f6c1e-6f0b-4c0c-9f57-6a3a3f0f6b1d',
  },
  IdempotencyScope: {
    name: 'Idempotency-Scope',
    in: 'header',
    description:
      'Name of a group of creates. The resources created in a scope can be listed, and the scope closed. ' +
      'Requires an Idempotency-Key and an Idempotency-Sequence.',
    schema: inline(idempotencyScopeName),
    example: '5f1c7a52-3a1e-4a0b-9b57-0d6f2f1f7f10',
  },
  IdempotencySequence: {
    name: 'Idempotency-Sequence',
    in: 'header',
    description:
      'Number of this create in its scope: the number after the last one used or closed. A repeated create has the ' +
      'number that it had before.',
    schema: inline(idempotencySequence),
    example: '1',
  },
  ResourceManager: RESOURCE_MANAGER,
  NeededResourceManager: { ...RESOURCE_MANAGER, required: true },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'ETags. The change is made only if the resource matches one of them; else the response is 412.',
    schema: { type: 'string' },
    example: '"1"',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'ETags. The response is 304 if the resource matches one of them.',
    schema: { type: 'string' },
    example: '"1"',
  },
};

export const HEADERS = {
  RequestId: { description: 'Identifies the request in logs and errors.', schema: { type: 'string' } },
  ETag: { description: 'The revision of the resource, for If-Match and If-None-Match.', schema: { type: 'string' } },
  Location: { description: 'Address of the new resource.', schema: { type: 'string', format: 'uri' } },
  IdempotencyReplayed: {
    description: '`true` if this is the response to an earlier request with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
  InstallationId: {
    description: 'Identifies the installation: another id means another database, in which other resources exist.',
    schema: { type: 'string', format: 'uuid' },
  },
  RateLimitLimit: {
    description:
      'Requests allowed per second, for the API key or for its owner, whichever has fewer left. Absent if there is no limit.',
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimitRemaining: { description: 'Requests left in the current window.', schema: { type: 'integer', minimum: 0 } },
  RateLimitReset: { description: 'Seconds until the window resets.', schema: { type: 'integer', minimum: 0 } },
  RetryAfter: { description: 'Seconds to wait before the next attempt.', schema: { type: 'string' } },
};
