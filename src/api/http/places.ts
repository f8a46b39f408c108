/** The places of the connections that are served, and who has to give theirs up once all are taken. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

export interface Places {
  taken(): number;
  takenBy(address: string): number;
  /** Until the connection is closed. */
  take(socket: Socket, address: string): void;
  /**
   * Makes room for a connection of this address by closing the one that has waited longest for a request. Whether there
   * was one to close.
   * @param ofAnybody among those of the address that has most places, if that has more than this one; else, of this one
   */
  free(address: string, ofAnybody: boolean): boolean;
}

interface Address {
  readonly name: string;
  places: number;
  /** Its connections that wait for a request, with since when. The one that has waited longest is the first. */
  readonly waiting: Map<Socket, number>;
}

interface Place {
  readonly of: Address;
  /** That are not answered to the last byte. */
  requests: number;
}

/** @param restMs for how long a connection must have waited to be closed: one that was just used may be used again */
export function createPlaces(server: Server, restMs: number): Places {
  const addresses = new Map<string, Address>();
  const places = new Map<Socket, Place>();

  // Before Fastify's listener, which may answer at once.
  server.prependListener('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
    const place = places.get(socket);
    if (!place) return;
    place.requests++;
    place.of.waiting.delete(socket);
    answer.once('close', () => {
      place.requests--;
      if (place.requests === 0 && places.has(socket)) place.of.waiting.set(socket, performance.now());
    });
  });

  function leave(socket: Socket): void {
    const place = places.get(socket);
    if (!place) return;
    const { of } = place;
    places.delete(socket);
    of.waiting.delete(socket);
    of.places--;
    if (of.places === 0) addresses.delete(of.name);
  }

  function longestWaiting({ waiting }: Address): Socket | undefined {
    for (const [socket, since] of waiting.entries().take(1)) if (performance.now() - since >= restMs) return socket;
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
      const address = addresses.get(name) ?? { name, places: 0, waiting: new Map() };
      addresses.set(name, address);
      address.places++;
      address.waiting.set(socket, performance.now());
      places.set(socket, { of: address, requests: 0 });
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
