/** Reads request headers: the version, the request id, the manager, and those of idempotent creates. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import {
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_SCOPE_HEADER,
  IDEMPOTENCY_SEQUENCE_HEADER,
  idempotencyKey,
  idempotencyScopeName,
  idempotencySequence,
} from '../../resources/definition/idempotency.ts';
import {
  type Manager,
  managerHeader,
  RESOURCE_MANAGER_HEADER,
  readManager,
} from '../../resources/definition/manager.ts';
import { invalidByRule, unknownTransferCoding } from '../errors/errors.ts';
import type { Call, Operation } from './operation.ts';
import { ISSUE_MESSAGES } from './validation.ts';

/** The version of this API, which requests may name and responses always do. */
export const SERVICE_VERSION = '2';
export const SERVICE_VERSION_HEADER = 'service-version';

/** The value of a header; if it was sent twice, Node.js joins the values, or drops one (checkSingle). */
export function header({ headers }: Pick<FastifyRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Headers of which Node.js keeps the first and drops the others, which something before this service may have read. */
const SINGLE = ['Content-Type', 'Host'];

/** @throws INVALID_REQUEST if the header was sent more than once */
export function checkSingle({ raw }: Pick<FastifyRequest, 'raw'>, name: string): void {
  const sent = raw.rawHeaders.filter((each, at) => at % 2 === 0 && isNamed(each, name));
  if (sent.length > 1) throw invalidByRule({ [name]: 'must be sent only once' });
}

const isNamed = (sent: string, name: string) =>
  sent.length === name.length && sent.toLowerCase() === name.toLowerCase();

/**
 * Checks what every operation expects of the headers, apart from the key.
 * @throws INVALID_REQUEST, NOT_IMPLEMENTED
 */
export function checkHeaders(request: Pick<FastifyRequest, 'headers' | 'raw'>): void {
  for (const name of SINGLE) checkSingle(request, name);
  const coding = header(request, 'transfer-encoding');
  // Node.js accepts others before it, and leaves them to be decoded.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw unknownTransferCoding();
  const version = header(request, SERVICE_VERSION_HEADER);
  if (version !== undefined && version !== SERVICE_VERSION) {
    throw invalidByRule({ 'Service-Version': `must be ${SERVICE_VERSION} (the only supported version)` });
  }
}

/** The id of a request with this X-Request-Id header: the header's value if it is harmless in a log line, or a new id. */
export function requestId(value: string | string[] | undefined): string {
  return typeof value === 'string' && HARMLESS.test(value) ? value : randomUUID();
}

const HARMLESS = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** Throws INVALID_REQUEST naming the header that is malformed or missing. */
export function parseIdempotency(
  request: Pick<FastifyRequest, 'headers'>,
): Pick<Call, 'idempotencyKey' | 'idempotencyPlace'> {
  const key = parse('Idempotency-Key', idempotencyKey, header(request, IDEMPOTENCY_KEY_HEADER));
  const scope = parse('Idempotency-Scope', idempotencyScopeName, header(request, IDEMPOTENCY_SCOPE_HEADER));
  const sequence = parse('Idempotency-Sequence', idempotencySequence, header(request, IDEMPOTENCY_SEQUENCE_HEADER));
  if (scope === undefined && sequence === undefined) return { idempotencyKey: key, idempotencyPlace: undefined };
  if (key === undefined) throw missing('Idempotency-Key', 'an idempotency scope');
  if (scope === undefined) throw missing('Idempotency-Scope', 'an Idempotency-Sequence');
  if (sequence === undefined) throw missing('Idempotency-Sequence', 'an Idempotency-Scope');
  return { idempotencyKey: key, idempotencyPlace: { scope, sequence } };
}

/** Throws INVALID_REQUEST if the header is malformed, or missing where it is always needed. */
export function parseManager(
  request: Pick<FastifyRequest, 'headers'>,
  needed: NonNullable<Operation['manages']>,
): Manager | undefined {
  const given = parse('Resource-Manager', managerHeader, header(request, RESOURCE_MANAGER_HEADER));
  if (given !== undefined) return readManager(given);
  if (needed === 'always') throw invalidByRule({ 'Resource-Manager': 'is required' });
  return undefined;
}

function parse<T extends z.ZodType>(name: string, schema: T, value: string | undefined): z.output<T> | undefined {
  if (value === undefined) return undefined;
  const result = schema.safeParse(value, ISSUE_MESSAGES);
  if (result.success) return result.data;
  throw invalidByRule({ [name]: result.error.issues[0]?.message ?? 'is malformed' });
}

const missing = (name: string, what: string) => invalidByRule({ [name]: `is required with ${what}` });
