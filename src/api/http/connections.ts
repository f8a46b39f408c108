/** Bounds the connections, so that strangers who open many leave descriptors for everyone else. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BlockList, isIPv6, type Server, type Socket } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import ipaddr from 'ipaddr.js';
import { overloaded } from '../errors/errors.ts';
import type { ConnectionCaps } from './descriptors.ts';
import { createPlaces } from './places.ts';
import { refusalLog } from './refusal-log.ts';

export interface ConnectionLimits extends ConnectionCaps {
  /** Connections of one address (IPv6: one /64) that are served; 0 for no limit. */
  perAddress: number;
  /** Milliseconds in which a connection must have sent something. */
  firstByteMs: number;
  /** Milliseconds for which a connection must have waited for a request before it may be closed to make room. */
  restMs: number;
  /** Likewise, for the rest of a body to arrive, or for an answer to be read. */
  slowMs: number;
  /** Surplus connections of one address. */
  surplusPerAddress: number;
  /** Milliseconds that a surplus connection has to send its request and read the answer. */
  surplusMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  most: 10_000,
  surplus: 64,
  perAddress: 5_000,
  firstByteMs: 10_000,
  restMs: 1_000,
  slowMs: 5_000,
  surplusPerAddress: 8,
  surplusMs: 5_000,
};

export interface Connections {
  /** Whether this connection is one too many: it gets one answer. */
  isSurplus(socket: Socket): boolean;
  /** Connections that are served, and how many were refused so far, or closed to make room. */
  usage(): { open: number; refused: number; closed: number };
}

/**
 * Watches the connections of the server.
 * @param proxies addresses and networks that stand for many clients, and have no limit of their own
 */
export function limitConnections(
  { server, log }: Pick<FastifyInstance, 'server' | 'log'>,
  limits: ConnectionLimits,
  proxies: string[],
): Connections {
  const { most, perAddress, firstByteMs, surplusMs } = limits;
  const refused = refusalLog(
    log,
    { connections: most, per_address: perAddress },
    {
      first: 'refusing connections: there are too many (MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS)',
      later: 'refused connections',
    },
  );
  const makingRoom = refusalLog(
    log,
    { connections: most, per_address: perAddress },
    {
      first: 'closing idle and slow connections to make room for others (MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS)',
      later: 'closed idle and slow connections to make room for others',
    },
  );
  const shared = blockList(proxies);
  const isShared = ({ remoteAddress: peer = '' }: Socket) => shared.check(peer, isIPv6(peer) ? 'ipv6' : 'ipv4');
  const places = createPlaces(server, limits);
  let refusedInAll = 0;
  let closedInAll = 0;
  // In the order in which they were opened, which is that of their deadlines.
  const silent = new Map<Socket, number>();
  const surplus = new Map<Socket, number>();
  const surplusOf = new Map<string, number>();

  /** Whether there is a place, or somebody had to give theirs up. */
  function hasPlace(address: string, socket: Socket): boolean {
    const isOwnFull = perAddress > 0 && places.takenBy(address) >= perAddress && !isShared(socket);
    if (!isOwnFull && places.taken() < most) return true;
    if (!places.free(address, !isOwnFull)) return false;
    makingRoom();
    closedInAll++;
    return true;
  }

  function refuse(address: string, socket: Socket): void {
    refused();
    refusedInAll++;
    const own = surplusOf.get(address) ?? 0;
    // One address alone must not have all of them: others are to be told, too, and their probes answered.
    const isOwnFull = own >= limits.surplusPerAddress && !isShared(socket);
    if (isOwnFull || surplus.size >= limits.surplus) return void socket.destroy();
    surplus.set(socket, performance.now() + surplusMs);
    surplusOf.set(address, own + 1);
    socket.once('close', () => {
      surplus.delete(socket);
      const left = (surplusOf.get(address) ?? 0) - 1;
      if (left > 0) surplusOf.set(address, left);
      else surplusOf.delete(address);
    });
  }

  server.on('connection', (socket) => {
    const address = normalizeIP(socket.remoteAddress ?? '');
    if (!hasPlace(address, socket)) return refuse(address, socket);
    places.take(socket, address);
    silent.set(socket, performance.now() + firstByteMs);
    socket.once('close', () => silent.delete(socket));
  });
  // Before Fastify's listener, which may answer at once.
  server.prependListener('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
    if (surplus.has(socket)) answer.setHeader('connection', 'close');
  });
  // One timer for all: nearly every connection sends something at once.
  const timer = setInterval(() => {
    for (const socket of expired(silent)) if (socket.bytesRead === 0) socket.destroy();
    for (const socket of expired(surplus)) socket.destroy();
  }, Math.min(firstByteMs, surplusMs) / 10).unref();
  server.once('close', () => clearInterval(timer));
  logAcceptErrors(server, log);

  return {
    isSurplus: (socket) => surplus.has(socket),
    usage: () => ({ open: places.taken(), refused: refusedInAll, closed: closedInAll }),
  };
}

/** Without a listener, a connection that could not be accepted (EMFILE) would end the process. */
export function logAcceptErrors(server: Server, log: Pick<FastifyBaseLogger, 'error'>): void {
  server.on('error', (error) => {
    if (server.listening) log.error({ err: error }, 'could not accept a connection');
  });
}

/** Applies to the routes of this instance, not to probes and metrics, which matter most when there is no room. */
export function refuseSurplus(app: FastifyInstance, connections: Connections): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (!connections.isSurplus(request.raw.socket)) return done();
    request.documentedPath = request.routeOptions.config.documentedPath ?? request.documentedPath;
    done(overloaded('There are too many connections; try again.'));
  });
}

/** Takes out and returns those whose time is over. */
function expired(deadlines: Map<Socket, number>): Socket[] {
  const now = performance.now();
  const found: Socket[] = [];
  for (const [socket, deadline] of deadlines) {
    if (deadline > now) break;
    deadlines.delete(socket);
    found.push(socket);
  }
  return found;
}

function blockList(networks: string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, prefix] = ipaddr.isValidCIDR(network)
      ? ipaddr.parseCIDR(network)
      : [ipaddr.parse(network), undefined];
    if (prefix === undefined) list.addAddress(address.toString(), address.kind());
    else list.addSubnet(address.toString(), prefix, address.kind());
  }
  return list;
}
