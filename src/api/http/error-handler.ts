/** Renders every failure as an error of the catalogue. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { errorBody } from '../errors/error-body.ts';
import {
  ApiError,
  internalError,
  invalidByRule,
  invalidRequest,
  LateRequest,
  notFound,
  Overload,
  overloaded,
  RequestAborted,
  resourceInUse,
  unavailable,
} from '../errors/errors.ts';
import { POOL_EXHAUSTED, transientCondition, violation } from '../store/database-errors.ts';
import { ABORTED } from './access-log.ts';
import { unsupportedMediaType } from './request-body.ts';
import { SERVICE_VERSION, SERVICE_VERSION_HEADER } from './request-headers.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts and logs a request that is refused because of load. */
    noteRefusal: (reason: string) => void;
  }
}

/** The error handler for handlers, hooks and Fastify itself. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof RequestAborted) {
    // Nobody reads it, but the reply must end.
    reply.code(ABORTED).send();
    return;
  }
  const answer = toApiError(error);
  logAnswer(answer, error, request);
  sendError(answer, request, reply);
}

/** Logs faults of the service in full, and counts refusals; a 4xx has only its line in the access log. */
function logAnswer(answer: ApiError, error: unknown, { server, log }: FastifyRequest): void {
  const level = error instanceof ApiError ? 'warn' : 'error';
  if (answer instanceof Overload) server.noteRefusal(answer.message);
  else if (answer.code === 'RATE_LIMITED' || answer instanceof LateRequest) server.logRefusal(answer.message);
  // Until the cause is gone, every request fails for the same reason.
  else if (answer.code === 'UNAVAILABLE')
    server.logRefusal(answer.message, { err: error, level, condition: transientCondition(error), log });
  else if (answer.status >= 500) log[level]({ err: error }, answer.message);
}

export function sendError(error: ApiError, request: FastifyRequest, reply: FastifyReply): void {
  const { id } = request;
  if (error.code === 'INVALID_REQUEST') request.reasons = error;
  reply
    .code(error.status)
    .headers({ 'x-request-id': id, [SERVICE_VERSION_HEADER]: SERVICE_VERSION, ...error.headers })
    .type('application/json; charset=utf-8')
    .send(errorBody(error, id));
}

/** The error of the catalogue for a failure. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isFastifyError(error)) return fromFastify(error) ?? internalError();
  const condition = transientCondition(error);
  if (condition === POOL_EXHAUSTED) return overloaded('All connections to the database are in use; try again.');
  if (condition !== undefined) return unavailable('The database is not available at the moment; try again.');
  const broken = violation(error);
  // Operations check these rules first, with better messages; a concurrent change can still break one.
  if (broken?.kind === 'referenced') {
    return resourceInUse('Other resources refer to this one.', { referrers: broken.table });
  }
  if (broken) return new ApiError('CONFLICT', 'The change conflicts with another change.', { rule: broken.constraint });
  return internalError();
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');
}

function fromFastify(error: FastifyError): ApiError | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType();
    case 'FST_ERR_BAD_URL':
      return invalidByRule({ path: 'has a malformed percent escape' });
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return notFound('This path does not exist.');
    default:
      return error.statusCode !== undefined && error.statusCode < 500
        ? invalidRequest({ request: error.message })
        : undefined;
  }
}
