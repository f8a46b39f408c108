/** Rate limits for each API key, for all keys of an owner and of an account, and for each address without a valid key. */
import { isIP } from 'node:net';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, RequestAborted, rateLimited } from '../errors/errors.ts';
import type { PoolShares } from './pool-shares.ts';

export interface RateLimits {
  /** Requests of one API key in a window; 0 for no limit. */
  perKey: number;
  /** Requests of all API keys of one owner in a window; 0 for no limit. */
  perOwner: number;
  /** Requests without a valid API key of one address in a window; 0 for no limit. */
  perAddress: number;
  windowMs: number;
  /** How many valid keys are remembered. Beyond that, the least recently used are forgotten. */
  knownKeys: number;
}

/**
 * Higher than the rate of an operator with thousands of objects. The limit of an owner is higher than that of a key, so
 * that one runaway key leaves room for the others. The window is short, so that refused clients wait briefly.
 */
export const RATE_LIMITS: RateLimits = {
  perKey: 1000,
  perOwner: 2000,
  perAddress: 100,
  windowMs: 1000,
  knownKeys: 5000,
};

/** An owner, their key and their account, whose limits a request counts towards. */
export interface KeyHolder {
  id: string;
  keyId: string;
  account: string;
  /** Of the account; null: no limit. */
  requestsPerSecond: number | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    keyHolder: KeyHolder | null;
  }
}

/** An API key before it is looked up. */
export interface KeyLookup<T extends KeyHolder> {
  /** Distinguishes keys without revealing them; undefined if none was sent. */
  fingerprint: string | undefined;
  /** @throws UNAUTHENTICATED */
  lookUp(): Promise<T>;
}

export interface RateLimiter {
  /**
   * Looks up a key and counts the request: for the key and its owner, or for the address if the key is not valid. An
   * address that has used up its limit is refused without a lookup, except for keys that were valid when last seen, so
   * that clients behind one proxy do not lock each other out. @throws RATE_LIMITED
   */
  authenticate<T extends KeyHolder>(request: FastifyRequest, reply: FastifyReply, key: KeyLookup<T>): Promise<T>;
  /** Counts a request without a valid key for its address. @throws RATE_LIMITED */
  countStranger(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

/**
 * The address that a request without a valid key counts for. `ip` is undefined once the connection is closed, contrary
 * to its type.
 */
export function addressOf({ ip = '' }: { ip: string | undefined }): string {
  // Some proxies add the port, which differs for each connection.
  const address = WITH_PORT.exec(ip)?.slice(1).find(Boolean) ?? ip;
  return isIP(address) === 0 ? 'unknown' : normalizeIP(address);
}

const WITH_PORT = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/;

/** The counters are in memory: every process has its own. */
export async function addRateLimits(
  app: FastifyInstance,
  shares: Pick<PoolShares, 'strangers'>,
  { perKey, perOwner, perAddress, windowMs, knownKeys }: RateLimits,
): Promise<RateLimiter> {
  // Counted without the plugin's hooks: only the lookup tells whether a request counts for its key or its address.
  await app.register(rateLimit, { global: false, timeWindow: windowMs });
  app.decorateRequest('keyHolder', null);
  const counters = [
    // The key comes first: a refused request must not count towards the limit of its owner's other keys, or of other owners.
    ...(perKey === 0 ? [] : [app.createRateLimit({ max: perKey, keyGenerator: (r) => r.keyHolder?.keyId ?? '' })]),
    ...(perOwner === 0 ? [] : [app.createRateLimit({ max: perOwner, keyGenerator: (r) => r.keyHolder?.id ?? '' })]),
    app.createRateLimit({
      max: (r) => ((r.keyHolder?.requestsPerSecond ?? 0) * windowMs) / 1000,
      keyGenerator: (r) => r.keyHolder?.account ?? '',
      allowList: (r) => r.keyHolder?.requestsPerSecond == null,
    }),
  ];
  const strangers = perAddress === 0 ? undefined : app.createRateLimit({ max: perAddress, keyGenerator: addressOf });
  /** By fingerprint. */
  const known = new Map<string, KeyHolder>();

  /** Shows the tightest limit in the response. @throws RATE_LIMITED when one is exceeded */
  async function count(request: FastifyRequest, reply: FastifyReply, holder: KeyHolder): Promise<void> {
    request.keyHolder = holder;
    let tightest: Usage | undefined;
    for (const counter of counters) {
      const usage = await counter(request);
      if (usage.isAllowed) continue;
      if (usage.isExceeded) refuse(reply, usage);
      if (tightest === undefined || usage.remaining < tightest.remaining) tightest = usage;
    }
    if (tightest) show(reply, tightest);
  }

  async function countStranger(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const usage = await strangers?.(request);
    if (usage && !usage.isAllowed && usage.isExceeded) refuse(reply, usage);
  }

  /** @throws RATE_LIMITED when the address has used up its limit */
  async function checkStranger(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const usage = await strangers?.(request, { increment: false });
    if (usage && !usage.isAllowed && usage.remaining === 0) refuse(reply, usage);
  }

  function remember(fingerprint: string, { id, keyId, account, requestsPerSecond }: KeyHolder): void {
    known.delete(fingerprint);
    known.set(fingerprint, { id, keyId, account, requestsPerSecond });
    if (known.size > knownKeys) for (const oldest of known.keys().take(1)) known.delete(oldest);
  }

  return {
    countStranger,
    async authenticate(request, reply, { fingerprint = '', lookUp }) {
      const holder = known.get(fingerprint);
      if (holder) await count(request, reply, holder);
      const release = holder ? undefined : await shares.strangers.acquire('');
      try {
        throwIfGone(request, reply);
        // After the permit: other waiting requests may have used up the limit.
        if (!holder) await checkStranger(request, reply);
        const found = await lookUp().catch(async (error: unknown) => {
          if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') known.delete(fingerprint);
          if (!known.has(fingerprint)) await countStranger(request, reply);
          throw error;
        });
        throwIfGone(request, reply);
        remember(fingerprint, found);
        if (!holder) await count(request, reply, found);
        return found;
      } finally {
        release?.();
      }
    },
  };
}

function throwIfGone(request: FastifyRequest, reply: FastifyReply): void {
  if (request.raw.socket.destroyed || reply.sent) throw new RequestAborted();
}

interface Usage {
  max: number;
  remaining: number;
  /** Seconds until the window ends. */
  ttlInSeconds: number;
}

function refuse(reply: FastifyReply, usage: Usage): never {
  show(reply, usage);
  throw rateLimited(usage.ttlInSeconds);
}

/** The names of the three headers in early versions of draft-ietf-httpapi-ratelimit-headers, which clients know. */
function show(reply: FastifyReply, { max, remaining, ttlInSeconds }: Usage): void {
  reply.header('ratelimit-limit', max).header('ratelimit-remaining', remaining).header('ratelimit-reset', ttlInSeconds);
}
