/** Renders every failure, wherever it was noticed, as an error of the catalogue. */

import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  ApiError,
  errorBody,
  internalError,
  invalidByRule,
  invalidRequest,
  LateRequest,
  lateRequest,
  notFound,
  Overload,
  overloaded,
  resourceInUse,
  unavailable,
} from '../errors/errors.ts';
import { POOL_EXHAUSTED, transientCondition, violation } from '../store/database-errors.ts';
import { type KnownMethods, pathOf } from './allowed-methods.ts';
import { ABORTED, refuseBody } from './body.ts';
import { largeHead } from './head.ts';
import type { LogRefusal } from './refusal-log.ts';
import { RequestAborted } from './request-aborted.ts';
import { newRequestId } from './request-id.ts';
import { SERVICE_VERSION, SERVICE_VERSION_HEADER } from './service-version.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts a request that is refused for load, and says so in the log. */
    noteRefusal: (reason: string) => void;
    /** Says in the log that requests are refused or fail for this reason, not each time. */
    logRefusal: LogRefusal;
  }
}

/** Answers errors of handlers, hooks and Fastify itself. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof RequestAborted) {
    // Nobody is there to read it, but the reply must end.
    reply.code(ABORTED).send();
    return;
  }
  const answer = toApiError(error);
  logAnswer(answer, error, request);
  sendError(answer, request, reply);
}

/** A 4xx is not our fault, and there may be very many of them. */
function logAnswer(answer: ApiError, error: unknown, { server, log }: FastifyRequest): void {
  const level = error instanceof ApiError ? 'warn' : 'error';
  if (answer instanceof Overload) server.noteRefusal(answer.message);
  else if (answer.code === 'RATE_LIMITED' || answer instanceof LateRequest) server.logRefusal(answer.message);
  // Until what is missing is back, every request fails for the same reason.
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

/** Which error of the catalogue a failure is. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isFastifyError(error)) return fromFastify(error) ?? internalError();
  const condition = transientCondition(error);
  // Whether the database is there shows in the requests that have the connections.
  if (condition === POOL_EXHAUSTED) return overloaded('All connections to the database are in use; try again.');
  if (condition !== undefined) return unavailable('The database is not available at the moment; try again.');
  const broken = violation(error);
  // Rules that an operation checks itself have better messages; these are for changes that raced past the check.
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
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('PAYLOAD_TOO_LARGE', 'The request body is too large.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType();
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalidByRule({ 'Content-Length': 'differs from the length of the body' });
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

export const unsupportedMediaType = () =>
  new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Request bodies must be JSON in UTF-8: "Content-Type: application/json".');

/** RFC 9110, sections 12.5.3 and 15.5.16: the header tells apart what was wrong. */
export const unsupportedCoding = () =>
  new ApiError(
    'UNSUPPORTED_MEDIA_TYPE',
    'Encoded request bodies are not supported: send no Content-Encoding, or "identity".',
    {},
    { 'accept-encoding': 'identity' },
  );

/** 404, or 405 with the methods of a path that exists. */
export function answerUnrouted(known: KnownMethods) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const methods = known.of(pathOf(request));
    const allow = methods.join(', ');
    // Of what supports the method, the route itself has looked for the rest of the path: for a file, say.
    const error =
      methods.length === 0 || methods.includes(request.method)
        ? notFound('This path does not exist.')
        : new ApiError('METHOD_NOT_ALLOWED', `This path supports only ${allow}.`, { allow }, { allow });
    sendError(error, request, reply);
  };
}

/**
 * Answers what Node's HTTP parser refused: here if it is the head of a request, of which nothing else exists; a body by
 * whoever reads it. The error holds the raw bytes with the
 * Authorization header, so it is not logged.
 */
export function answerClientError(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  // Of what comes behind the last request or the last answer, nobody has to be told. Each piece of it is an error.
  if (error.code === 'HPE_CLOSED_CONNECTION' || socket.writableEnded || ending.has(socket)) return;
  // Silence is not a request, and whoever sends the first one later would take this for its answer (RFC 9110, 15.5.9).
  if (socket.bytesRead === 0) {
    socket.destroy(error);
    return;
  }
  const { answering, arriving } = requestsOn(socket);
  // The client went away in the middle of a request, which has a line of its own.
  if (error.code === 'HPE_INVALID_EOF_STATE' && arriving && answering?.req === arriving && !answering.headersSent) {
    socket.destroy();
    return;
  }
  const answer = clientError(error.code);
  // What we write now would be taken for the answer to what was read before, or be a second one to it.
  if (answering || arriving) {
    if (arriving) refuseBody(arriving, answer);
    ending.add(socket);
    endAfterAnswers(socket);
    return;
  }
  const id = newRequestId();
  this.logRefusal(answer.message);
  this.log.debug({ request_id: id, code: error.code, status: answer.status }, 'unreadable request');
  const body = JSON.stringify(errorBody(answer, id));
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': id,
    [SERVICE_VERSION_HEADER]: SERVICE_VERSION,
    connection: 'close',
    ...answer.headers,
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${answer.status} ${answer.code}\r\n${head.join('')}\r\n${body}`);
  socket.destroySoon();
}

/** Connections that end with the answers to what was read before an error. */
const ending = new WeakSet<Socket>();

/** Whoever counts the bytes of a body wrongly has sent a request all the same, and what it does is done. */
function endAfterAnswers(socket: Socket): void {
  const { answering, arriving } = requestsOn(socket);
  if (!answering) {
    socket.destroySoon();
    return;
  }
  // Not in an answer before the last, with which Node would close the connection.
  if (answering.req === arriving && !answering.headersSent) answering.setHeader('connection', 'close');
  answering.once('close', () => endAfterAnswers(socket));
}

const HasAnswer = z.object({ _httpMessage: z.instanceof(ServerResponse) });
const HasParser = z.object({ parser: z.object({ incoming: z.instanceof(IncomingMessage) }) });

/**
 * The answer that is due next, if any, and the request whose body is still to come. Node itself looks at the same members,
 * which have no documented name.
 */
function requestsOn(socket: Socket): {
  answering?: ServerResponse | undefined;
  arriving?: IncomingMessage | undefined;
} {
  const incoming = HasParser.safeParse(socket).data?.parser.incoming;
  return {
    answering: HasAnswer.safeParse(socket).data?._httpMessage,
    arriving: incoming?.complete ? undefined : incoming,
  };
}

function clientError(code: string | undefined): ApiError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return lateRequest();
    case 'HPE_HEADER_OVERFLOW':
      return largeHead();
    default:
      return invalidByRule({ request: 'is not valid HTTP/1.1' });
  }
}
