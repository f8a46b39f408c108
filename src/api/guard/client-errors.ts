/** Responds to what Node's HTTP parser refuses: invalid HTTP, a head that is too large, a late request. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { errorBody } from '../errors/error-body.ts';
import { type ApiError, invalidByRule, lateRequest, unknownTransferCoding } from '../errors/errors.ts';
import type { Connections } from './connections.ts';
import type { LogRefusal } from './refusal-log.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Logs that requests are refused or fail for this reason, without a line for each. */
    logRefusal: LogRefusal;
  }
}

/** Largest head of a request, including its first line. It is held from its first byte and charged to no caller. */
export const MAX_HEAD_BYTES = 8 * 1024;

/** The `clientErrorHandler` of an instance. The error is not logged: it holds the bytes sent, with the Authorization header. */
export function answerClientErrors(connections?: Pick<Connections, 'open'>) {
  /** Connections that close after their last response. */
  const closing = new WeakSet<Socket>();

  return function answer(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed || closing.has(socket)) return;
    // The client has sent nothing to respond to, or has closed its side within a request.
    if (socket.bytesRead === 0 || error.code === 'HPE_INVALID_EOF_STATE') {
      socket.destroy();
      return;
    }
    closing.add(socket);
    const [...requests] = connections?.open.get(socket)?.requests ?? [];
    const [[response, request] = []] = requests.slice(-1);
    // The response belongs to a request whose body is being read, if there is one. Earlier requests are answered first.
    if (response && (requests.length > 1 || request?.complete || response.headersSent)) {
      response.once('close', () => socket.destroySoon());
      return;
    }
    const refusal = clientError(error.code);
    const id = randomUUID();
    this.logRefusal(refusal.message);
    this.log.debug({ request_id: id, code: error.code, status: refusal.status }, 'unreadable request');
    socket.write(rawResponse(refusal, id));
    socket.destroySoon();
  };
}

function clientError(code: string | undefined): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return lateRequest();
  if (code === 'HPE_INVALID_TRANSFER_ENCODING') return unknownTransferCoding();
  if (code === 'HPE_HEADER_OVERFLOW') return invalidByRule({ headers: `are more than ${MAX_HEAD_BYTES} bytes` });
  return invalidByRule({ request: 'is not valid HTTP/1.1' });
}

function rawResponse(error: ApiError, id: string): string {
  const body = JSON.stringify(errorBody(error, id));
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': id,
    connection: 'close',
    ...error.headers,
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${error.status} ${error.code}\r\n${head.join('')}\r\n${body}`;
}
