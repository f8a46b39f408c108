/**
 * How many bytes the process holds for its callers at once: bodies that arrive or are being handled, and answers that
 * are not sent yet. Without a bound, whoever sends slowly or does not read takes all memory.
 */
import { overloaded, rateLimited } from '../errors/errors.ts';
import type { Caller } from './authentication.ts';
import { RequestAborted } from './request-aborted.ts';

/** In bytes; 0 for no limit. */
export interface BytesInFlightLimits {
  /** Of one API key, or of one address without a valid one. */
  perKey: number;
  /**
   * Of all keys of one user or bot, since whoever has a key can make more of them; and of all addresses without one. None
   * of them may hold more than all leave free: the next one always finds as much free as each of them holds.
   */
  perOwner: number;
  inAll: number;
}

const MIB = 1024 * 1024;

export const BYTES_IN_FLIGHT: BytesInFlightLimits = { perKey: 32 * MIB, perOwner: 64 * MIB, inAll: 128 * MIB };

/** A page ends before the item with which it would be longer. */
export const MAX_PAGE_BYTES = 2 * MIB;

/** What one request holds. Alone, it is never refused, however large it is. */
export interface Charge {
  /** Whether the request is over. */
  readonly isOver: boolean;
  /** Whether there is room for another page. @throws RATE_LIMITED, UNAVAILABLE */
  check(): void;
  /**
   * @throws RATE_LIMITED, UNAVAILABLE when that is more than the caller, or all, may hold
   * @throws RequestAborted when the request is over
   */
  add(bytes: number): void;
  /** Adds what must be held, also beyond the limits: the answer to a change that is made. */
  hold(bytes: number): void;
  /** Holds nothing, for now. */
  release(): void;
  /** When the request is over: holds nothing from now on, whatever still arrives. May be called again. */
  end(): void;
}

/** Of an answer that is in memory anyhow, and not copied for whoever gets it. */
export const SHARED: Charge = { isOver: false, check() {}, add() {}, hold() {}, release() {}, end() {} };

export interface BytesInFlight {
  ofCaller(caller: Pick<Caller, 'id' | 'keyId'>): Charge;
  ofAddress(address: string): Charge;
  /** Of all requests. */
  total(): number;
}

/** However many addresses they have: they must leave room to those who have a key. */
const STRANGERS = 'strangers';

/** The counters are in memory, as what they count is. */
export function createBytesInFlight({ perKey, perOwner, inAll }: BytesInFlightLimits): BytesInFlight {
  /** By id of the key or owner, or by address. */
  const held = new Map<string, number>();
  let total = 0;
  const heldBy = (name: string) => held.get(name) ?? 0;
  /** No owner holds more than all leave free, or 0 for no limit. */
  const fairShare = () => (perOwner > 0 && inAll > 0 ? Math.max(1, inAll - total) : 0);

  function open(key: string, owner: string): Charge {
    let own = 0;
    let isOver = false;
    /** What others hold of an account counts; if that is nothing, the request is alone. */
    const exceeds = (used: number, bytes: number, limit: number) => limit > 0 && used > own && used + bytes > limit;
    function refuseBeyond(bytes: number): void {
      const isTooMuch = exceeds(heldBy(key), bytes, perKey) || exceeds(heldBy(owner), bytes, perOwner);
      if (!isTooMuch && exceeds(total, bytes, inAll))
        throw overloaded('The service holds as many bytes as it may; try again.');
      if (isTooMuch || exceeds(heldBy(owner), bytes, fairShare()))
        throw rateLimited(1, 'Too many bytes in flight: read the answers, or send less at once.');
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
