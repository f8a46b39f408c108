/** The places of the connections that are served, and who has to give theirs up once all are taken. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

export interface Places {
  taken(): number;
  takenBy(address: string): number;
  /** Until the connection is closed. */
  take(socket: Socket, address: string): void;
  /**
   * Makes room for a connection of this address by closing another one: that which has waited longest for a request, or
   * else one that keeps the service waiting within a request. Whether there was one to close.
   * @param ofAnybody among those of the address that has most places, if that has more than this one; else, of this one
   */
  free(address: string, ofAnybody: boolean): boolean;
}

/** For how long a connection must have waited to be closed. */
export interface Rests {
  /** Milliseconds without a request: one that was just used may be used again. */
  restMs: number;
  /** Milliseconds for which a body has not arrived, or an answer has not been read. */
  slowMs: number;
}

interface Address {
  readonly name: string;
  places: number;
  /** Its connections that wait for a request, with since when. The one that has waited longest is the first. */
  readonly waiting: Map<Socket, number>;
  /** Its connections with requests, with since when it may have been up to the client. The first has had longest. */
  readonly busy: Map<Socket, number>;
}

interface Place {
  readonly of: Address;
  /** Those that are not answered to the last byte. */
  readonly requests: Map<ServerResponse, IncomingMessage>;
}

/** How many connections are looked at for one that keeps the service waiting: the others may all be at work. */
const MOST_LOOKED_AT = 32;

export function createPlaces(server: Server, { restMs, slowMs }: Rests): Places {
  const addresses = new Map<string, Address>();
  const places = new Map<Socket, Place>();

  // Before Fastify's listener, which may answer at once.
  server.prependListener('request', (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request;
    const place = places.get(socket);
    if (!place) return;
    const { of, requests } = place;
    if (requests.size === 0) of.busy.set(socket, performance.now());
    requests.set(answer, request);
    of.waiting.delete(socket);
    // For what the service took until then, the client could do nothing.
    const restart = () => {
      const [first] = requests.keys();
      if (answer === first && of.busy.delete(socket)) of.busy.set(socket, performance.now());
    };
    // When the service begins to read the body, and when it has handed the answer to the socket.
    request.once('resume', restart);
    answer.once('prefinish', restart);
    answer.once('close', () => {
      requests.delete(answer);
      // The next of several in a row has a time of its own.
      of.busy.delete(socket);
      if (!places.has(socket)) return;
      const now = requests.size === 0 ? of.waiting : of.busy;
      now.set(socket, performance.now());
    });
  });

  function leave(socket: Socket): void {
    const place = places.get(socket);
    if (!place) return;
    const { of } = place;
    places.delete(socket);
    of.waiting.delete(socket);
    of.busy.delete(socket);
    of.places--;
    if (of.places === 0) addresses.delete(of.name);
  }

  function longestWaiting({ waiting, busy }: Address): Socket | undefined {
    const now = performance.now();
    for (const [socket, since] of waiting.entries().take(1)) if (now - since >= restMs) return socket;
    for (const [socket, since] of busy.entries().take(MOST_LOOKED_AT)) {
      if (now - since < slowMs) return undefined;
      const first = places.get(socket)?.requests.entries().next().value;
      if (first && isUpToClient(...first)) return socket;
    }
    return undefined;
  }

  /** Of those with more places than `own`, and a connection to close, the one that has most; else `own`. */
  function largest(own: Address | undefined): Address | undefined {
    let found = own;
    for (const each of addresses.values()) {
      if (each.places > (found?.places ?? 0) && longestWaiting(each)) found = each;
    }
    return found;
  }

  return {
    taken: () => places.size,
    takenBy: (address) => addresses.get(address)?.places ?? 0,
    take(socket, name) {
      const address = addresses.get(name) ?? { name, places: 0, waiting: new Map(), busy: new Map() };
      addresses.set(name, address);
      address.places++;
      address.waiting.set(socket, performance.now());
      places.set(socket, { of: address, requests: new Map() });
      socket.once('close', () => leave(socket));
    },
    free(address, ofAnybody) {
      const own = addresses.get(address);
      const from = ofAnybody ? largest(own) : own;
      const socket = from && longestWaiting(from);
      if (!socket) return false;
      // Not only when it has closed: its place is taken at once.
      leave(socket);
      socket.destroy();
      return true;
    },
  };
}

/**
 * Whether the client has to do something before a request can end: send the rest of it, or read its answer. Node stops
 * reading from a connection while much of a body waits to be read, so that the rest may have been sent.
 */
const isUpToClient = (answer: ServerResponse, request: IncomingMessage) =>
  (!request.complete && request.readableLength === 0) || answer.writableEnded;
