/**
 * Limits the bytes that the process holds for its callers: request bodies that arrive or are being handled, and responses
 * that are not sent yet. Without a limit, a client that sends slowly or does not read takes all memory.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { overloaded, RequestAborted, rateLimited } from '../errors/errors.ts';
import { addressOf } from './rate-limit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes that the request holds; null until its caller is known, or while it holds none. */
    charge: Charge | null;
  }
}

/** Limits in bytes; 0 for no limit. */
export interface BytesInFlightLimits {
  /** For one API key, or for one address without a valid key. */
  perKey: number;
  /**
   * For all keys of one owner, since an owner can create more keys, or for all addresses without a valid key. An owner
   * may also hold no more than is still free, so that the next owner always finds as much.
   */
  perOwner: number;
  inAll: number;
}

const MIB = 1024 * 1024;

export const BYTES_IN_FLIGHT: BytesInFlightLimits = { perKey: 32 * MIB, perOwner: 64 * MIB, inAll: 128 * MIB };

/** A page ends before the item that would exceed this. */
export const MAX_PAGE_BYTES = 2 * MIB;

/** The bytes that one request holds. The only request of an owner is never refused, whatever others hold. */
export interface Charge {
  /** Whether the request is over. */
  readonly isOver: boolean;
  /** Checks that there is room for another page. @throws RATE_LIMITED, UNAVAILABLE */
  check(): void;
  /**
   * @throws RATE_LIMITED, UNAVAILABLE when the caller, or all callers, would hold too many bytes
   * @throws RequestAborted when the request is over
   */
  add(bytes: number): void;
  /** Adds bytes even beyond the limits: the response to a change must be sent. */
  hold(bytes: number): void;
  /** Releases all bytes. */
  release(): void;
  /** Releases all bytes and ignores those added later. May be called again. */
  end(): void;
}

/** For a response that stays in memory and is shared by all clients. */
export const SHARED: Charge = { isOver: false, check() {}, add() {}, hold() {}, release() {}, end() {} };

export interface BytesInFlight {
  ofCaller(caller: { id: string; keyId: string }): Charge;
  ofAddress(address: string): Charge;
  /** The bytes that all requests hold. */
  total(): number;
}

/** The owner of all requests without a valid key. */
const STRANGERS = 'strangers';

export function createBytesInFlight({ perKey, perOwner, inAll }: BytesInFlightLimits): BytesInFlight {
  /** By id of the key or owner, or by address. */
  const held = new Map<string, number>();
  let total = 0;
  const heldBy = (name: string) => held.get(name) ?? 0;
  /** Bytes that are free, an upper bound for every owner; 0 for no limit. */
  const fairShare = () => (perOwner > 0 && inAll > 0 ? Math.max(1, inAll - total) : 0);

  function open(key: string, owner: string): Charge {
    let own = 0;
    let isOver = false;
    /** Only if other requests of the account hold bytes as well. */
    const exceeds = (used: number, bytes: number, limit: number) => limit > 0 && used > own && used + bytes > limit;
    function refuseBeyond(bytes: number): void {
      // Owners who do not read their responses must not shut out one who holds nothing.
      if (heldBy(owner) === own) return;
      const isTooMuch = exceeds(heldBy(key), bytes, perKey) || exceeds(heldBy(owner), bytes, perOwner);
      if (!isTooMuch && exceeds(total, bytes, inAll))
        throw overloaded('The service holds as many bytes as it may; try again.');
      if (isTooMuch || exceeds(heldBy(owner), bytes, fairShare()))
        throw rateLimited(1, 'Too many bytes in flight; read the responses, or send less at once.');
    }
    function book(bytes: number): void {
      own += bytes;
      total += bytes;
      for (const name of [key, owner]) {
        const used = heldBy(name) + bytes;
        if (used === 0) held.delete(name);
        else held.set(name, used);
      }
    }
    return {
      get isOver() {
        return isOver;
      },
      check: () => refuseBeyond(MAX_PAGE_BYTES),
      add(bytes) {
        if (isOver) throw new RequestAborted();
        refuseBeyond(bytes);
        book(bytes);
      },
      hold(bytes) {
        if (!isOver) book(bytes);
      },
      release: () => book(-own),
      end() {
        isOver = true;
        book(-own);
      },
    };
  }

  return {
    ofCaller: ({ id, keyId }) => open(keyId, id),
    ofAddress: (address) => open(address, STRANGERS),
    total: () => total,
  };
}

/** A response longer than this is sent as bytes: for a string, Node.js would hold both the string and its bytes. */
const LARGE = 16 * 1024;

/** Charges responses until they are sent. Applies to the routes that are added to this instance from now on. */
export function chargeResponses(app: FastifyInstance, bytes: BytesInFlight): void {
  app.decorateRequest('charge', null);
  const over = new WeakSet<FastifyRequest>();
  const end = (request: FastifyRequest) => {
    over.add(request);
    // A handler that is still waiting must not keep the body in memory, which no longer counts as in flight.
    request.body = undefined;
    request.charge?.end();
  };
  app.addHook('onRequest', (request, reply, done) => {
    // Fastify's onResponse does not run for every aborted response.
    reply.raw.once('close', () => end(request));
    done();
  });
  app.addHook('onResponse', (request, _reply, done) => {
    end(request);
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    // The client has gone: nothing would release what is charged now.
    if (over.has(request)) return done(null, payload);
    const response = typeof payload === 'string' && payload.length > LARGE ? Buffer.from(payload) : payload;
    const size = sizeOf(response);
    const { charge } = request;
    // A read may still be refused, but the response to a change must be sent.
    if (charge && request.method === 'GET' && reply.statusCode === 200) {
      charge.release();
      try {
        charge.add(size);
      } catch (error) {
        for (const name of ['etag', 'content-encoding', 'cache-control']) reply.removeHeader(name);
        return done(error instanceof Error ? error : new Error(String(error)));
      }
    } else {
      request.charge ??= bytes.ofAddress(addressOf(request));
      request.charge.hold(size);
    }
    done(null, response);
  });
}

/** A stream is charged for what is read ahead of the client. */
const STREAM_BYTES = 1024 * 1024;

function sizeOf(payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  if (Buffer.isBuffer(payload)) return payload.length;
  return payload instanceof Readable ? STREAM_BYTES : 0;
}
