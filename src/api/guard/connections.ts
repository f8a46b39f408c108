/** Limits the connections of the server, and the requests of one connection that are handled at once. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { isIPv6, type Server, type Socket } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyBaseLogger } from 'fastify';
import { networkList } from '../../outbound/network-list.ts';
import { refusalLog } from './refusal-log.ts';

export interface ConnectionLimits {
  /** Connections in all. */
  most: number;
  /** Connections of one address (IPv6: one /64); 0 for no limit. Default: half of all. */
  perAddress?: number | undefined;
  /** Requests of one connection that are handled at once (pipelining). */
  requests: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = { most: 10_000, requests: 8 };

/** Requests dropped in one turn of the event loop, after which all other connections pause until the next turn. */
const MOST_DROPPED = 2_000;

export interface Connection {
  /** Requests without a complete response, oldest first. */
  readonly requests: Map<ServerResponse, IncomingMessage>;
  /** When it was opened or its last response was sent, by `performance.now()`. */
  usedAt: number;
}

export interface Connections {
  readonly open: ReadonlyMap<Socket, Connection>;
  /** How many connections were refused so far. */
  refused(): number;
  /** Passes requests on to `handle`, and closes a connection that pipelines too many. */
  limitRequests(handle: RequestListener): RequestListener;
  /** Watches the connections of a server. */
  watch(server: Server): void;
}

/** @param proxies addresses and networks that stand for many clients and have no limit of their own */
export function createConnections(
  limits: ConnectionLimits,
  proxies: readonly string[],
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>,
): Connections {
  const { most, perAddress = Math.ceil(most / 2), requests: mostRequests } = limits;
  const open = new Map<Socket, Connection>();
  const addresses = new Map<string, number>();
  const exempt = networkList(proxies);
  let refused = 0;
  const logRefused = refusalLog(
    log,
    { connections: most, per_address: perAddress },
    {
      first: 'refusing connections: there are too many (MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS)',
      later: 'refused connections',
    },
  );
  const logPipelining = refusalLog(
    log,
    { requests: mostRequests },
    {
      first: 'closing connections: too many requests at once on one connection (pipelining)',
      later: 'closed connections with too many requests at once',
    },
  );
  const refuse = () => {
    refused++;
    logRefused();
  };

  let dropped = 0;
  const paused: Socket[] = [];
  /**
   * Node.js parses everything it has read from a connection, which can be thousands of requests, and keeps them until
   * the connection closes after this turn. Many such connections in one turn would exhaust the memory.
   */
  function drop(): void {
    if (dropped === 0) {
      setImmediate(() => {
        dropped = 0;
        for (const socket of paused.splice(0)) socket.resume();
      });
    }
    dropped++;
    if (dropped % MOST_DROPPED > 0) return;
    for (const socket of open.keys()) if (!socket.destroyed && !socket.isPaused()) paused.push(socket.pause());
  }

  function accept(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const address = normalizeIP(remoteAddress);
    const count = addresses.get(address) ?? 0;
    const isExempt = perAddress === 0 || exempt.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
    if (count >= perAddress && !isExempt) {
      refuse();
      socket.destroy();
      return;
    }
    addresses.set(address, count + 1);
    const connection: Connection = { requests: new Map(), usedAt: performance.now() };
    open.set(socket, connection);
    socket.once('close', () => {
      open.delete(socket);
      const left = (addresses.get(address) ?? 0) - 1;
      if (left > 0) addresses.set(address, left);
      else addresses.delete(address);
      // After a CONNECT, Node.js does not close the responses to requests before it.
      for (const response of connection.requests.keys()) response.destroy();
    });
  }

  return {
    open,
    refused: () => refused,
    limitRequests: (handle) => (request, response) => {
      const { socket } = request;
      if (socket.destroyed) return drop();
      const connection = open.get(socket);
      if (!connection) return handle(request, response);
      const { requests } = connection;
      if (requests.size >= mostRequests) {
        logPipelining();
        socket.destroy();
        return drop();
      }
      requests.set(response, request);
      response.once('close', () => {
        requests.delete(response);
        connection.usedAt = performance.now();
      });
      handle(request, response);
    },
    watch(server) {
      server.maxConnections = most;
      server.on('drop', refuse);
      server.on('connection', accept);
      logAcceptErrors(server, log);
    },
  };
}

/** Without a listener, a connection that could not be accepted (EMFILE) would end the process. */
export function logAcceptErrors(server: Server, log: Pick<FastifyBaseLogger, 'error'>): void {
  server.on('error', (error) => {
    if (server.listening) log.error({ err: error }, 'could not accept a connection');
  });
}
