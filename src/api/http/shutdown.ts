/**
 * How the server stops: not ready, then no new connections, then the answers under way to their last byte, then out.
 * Why not with a library: docs/decisions/0009.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

export interface ShutdownTimes {
  /** Milliseconds for which everything goes on but readiness, so that others learn of the end and go elsewhere. */
  delayMs: number;
  /** Milliseconds after which connections are cut, counted from the beginning of the stop. */
  deadlineMs: number;
  /** A connection that was used this recently may be about to be used again, and a new one to be used at all. */
  quietMs: number;
  /** Nobody has connected for this long: those who were told to go have come back, even from afar or a busy machine. */
  settledMs: number;
}

export const SHUTDOWN: ShutdownTimes = { delayMs: 0, deadlineMs: 23_000, quietMs: 1_000, settledMs: 100 };

export interface Shutdown {
  hasBegun(): boolean;
}

const SWEEP_EVERY_MS = 20;

/** Clients that open a connection for each request never settle. */
const MOST_SETTLING_ROUNDS = 10;

/** How long it takes at most from the end of the delay until nobody new is accepted. */
export const MOST_SETTLING_MS = SHUTDOWN.settledMs * MOST_SETTLING_ROUNDS;

interface Connection {
  /** Requests that are not answered yet, oldest first. */
  answers: Set<ServerResponse>;
  /** What had been read when the last answer was finished: if there is more, a request is arriving. */
  readAtRest: number;
  restsSince: number;
  /** The answer that was to close it, if none comes after it. */
  last?: ServerResponse | undefined;
}

/** Makes `app.close()` a graceful stop. */
export function addShutdown(app: FastifyInstance, times: ShutdownTimes): Shutdown {
  const { delayMs, deadlineMs, quietMs, settledMs } = times;
  const { server, log } = app;
  const connections = new Map<Socket, Connection>();
  /** To requests that came behind the answer that closes their connection. */
  const unanswerable = new WeakSet<ServerResponse>();
  /** Aborted when it is over. */
  const deadline = new AbortController();
  let hasBegun = false;
  /** Whether clients are told to go elsewhere. While the listener is about to close, they would come back to it. */
  let sendsAway = false;
  let accepted = 0;

  server.on('connection', (socket) => {
    accepted++;
    if (deadline.signal.aborted) return void socket.destroy();
    connections.set(socket, { answers: new Set(), readAtRest: 0, restsSince: performance.now() });
    socket.once('close', () => connections.delete(socket));
  });
  // Before Fastify's listener, which may answer at once.
  server.prependListener('request', (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (!connection) return;
    connection.answers.add(answer);
    if (isOver(connection)) unanswerable.add(answer);
    else closeAfter(connection, sendsAway ? answer : undefined);
    const rest = () => {
      connection.readAtRest = socket.bytesRead;
      connection.restsSince = performance.now();
    };
    answer.once('close', () => {
      connection.answers.delete(answer);
      rest();
      // Answered before its body had arrived, which is then read and dropped.
      if (!request.complete) request.once('close', rest);
    });
  });
  // A request that arrives when we have said that we close the connection could not be answered: it must not take effect.
  app.addHook('onRequest', (request, reply, done) => {
    const connection = connections.get(request.raw.socket);
    // Fastify's own, from the beginning of the stop.
    if (hasBegun && !(sendsAway && isLast(connection, reply.raw))) reply.raw.removeHeader('connection');
    if (unanswerable.has(reply.raw)) reply.hijack();
    else done();
  });

  // Node calls this when the server closes, and its own would cut answers that are being sent.
  server.closeIdleConnections = () => {
    const now = performance.now();
    for (const [socket, connection] of connections) {
      if (isIdle(socket, connection) && now - connection.restsSince > quietMs) socket.destroySoon();
    }
  };

  function cut(): void {
    deadline.abort();
    const busy = [...connections.keys()].filter(({ writableEnded }) => !writableEnded).length;
    if (busy > 0)
      log.warn({ connections: busy }, 'the time to stop is over; cutting the connections that are still in use');
    for (const socket of connections.keys()) socket.destroy();
  }

  function sendAway(): void {
    sendsAway = true;
    // Of several requests in a row, the last answer closes the connection.
    for (const connection of connections.values()) {
      const last = [...connection.answers].at(-1);
      if (last?.headersSent === false && !isOver(connection)) closeAfter(connection, last);
    }
  }

  /** Not beyond the deadline: what comes after it needs the rest of the time. */
  const pause = (ms: number) => delay(ms, undefined, { signal: deadline.signal }).catch(() => undefined);

  /** Waits until nobody is waiting to be accepted, whom the system would reset. */
  async function settle(): Promise<void> {
    sendsAway = false;
    for (
      let round = 0, before = -1;
      round < MOST_SETTLING_ROUNDS && before !== accepted && !deadline.signal.aborted;
      round++
    ) {
      before = accepted;
      await pause(settledMs);
      // The listener closes right after a round of accepting.
      await nextTurn();
    }
  }

  app.addHook('preClose', async () => {
    hasBegun = true;
    if (!server.listening) return;
    const timer = setTimeout(cut, deadlineMs);
    if (delayMs > 0) {
      sendAway();
      await pause(delayMs);
    }
    await settle();
    sendAway();
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_EVERY_MS);
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(timer);
    });
  });

  return { hasBegun: () => hasBegun };
}

/** Not after one before it, if that can still be told otherwise. */
function closeAfter(connection: Connection, answer: ServerResponse | undefined): void {
  if (connection.last?.headersSent === false) connection.last.removeHeader('connection');
  connection.last = answer;
  answer?.setHeader('connection', 'close');
}

/** Whether the client has been told that nothing more is answered. */
const isOver = ({ last }: Connection) => last?.headersSent === true && last.getHeader('connection') === 'close';

/** A request without a connection, as from a test, is the last. */
const isLast = (connection: Connection | undefined, answer: ServerResponse) =>
  connection?.last === undefined || connection.last === answer;

const isIdle = (socket: Socket, { answers, readAtRest }: Connection) =>
  answers.size === 0 && socket.bytesRead === readAtRest;
