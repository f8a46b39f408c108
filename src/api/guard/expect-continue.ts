/**
 * Requests with `Expect: 100-continue` (RFC 9110, section 10.1.1), whose clients wait before they send the body. By
 * default, Node.js tells them to go on before anything has been checked.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Leaves it to `sendContinue` to ask for the body. A response without it closes the connection, as Node.js does. */
export function deferContinue(server: Server, handle: RequestListener): void {
  server.on('checkContinue', (request, response) => {
    waiting.set(request, response);
    handle(request, response);
  });
}

/** Asks for the body of a request, if its client waits for that. */
export function sendContinue(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}
