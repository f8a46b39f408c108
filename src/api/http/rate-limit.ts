/** Rate limits for each API key, for all keys of an owner, and for each address that has no valid one. */
import { isIP } from 'node:net';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, rateLimited } from '../errors/errors.ts';
import type { Executor } from '../store/database.ts';
import type { Caller, Credentials } from './authentication.ts';
import type { PoolShares } from './pool-shares.ts';
import { RateWindows } from './rate-windows.ts';
import { RequestAborted } from './request-aborted.ts';

export interface RateLimits {
  /** Requests of one API key in a window; 0 for no limit. */
  perKey: number;
  /** Requests of all API keys of one owner in a window; 0 for no limit. */
  perOwner: number;
  /** Requests without a valid API key of one address in a window; 0 for no limit. */
  perAddress: number;
  windowMs: number;
  /** Of how many keys it is remembered that they were valid. Of more, those used longest ago are forgotten. */
  knownKeys: number;
}

/**
 * Above what an operator with thousands of objects sends, and for an owner above that of a key, so that one runaway key
 * leaves something to the others. The window is short, so that refused clients wait briefly.
 */
export const RATE_LIMITS: RateLimits = {
  perKey: 1000,
  perOwner: 2000,
  perAddress: 100,
  windowMs: 1000,
  knownKeys: 5000,
};

/** Whose limits a request counts for. */
type Payer = Pick<Caller, 'id' | 'keyId'>;

declare module 'fastify' {
  interface FastifyRequest {
    payer: Payer | null;
  }
}

export interface RateLimiter {
  /**
   * Looks up whose credentials these are: one at a time, once too many from this address were nobody's. A key that was
   * valid when last seen does not wait for what others behind the same address (of a proxy, say) do. A lookup that fails
   * counts as what is known of the key: for it and its owner, or for the address. @throws RATE_LIMITED
   */
  authenticate(request: FastifyRequest, reply: FastifyReply, credentials: Credentials): Promise<Caller>;
  /** Counts a request to a path that needs no key. @throws RATE_LIMITED */
  countStranger(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /**
   * Counts a request that leads nowhere: if its key was valid when last seen, for that and, apart from their other
   * requests, for its owner; else, or if neither has a limit, for its address. @throws RATE_LIMITED
   */
  countUnrouted(request: FastifyRequest, reply: FastifyReply, credentials: Credentials): Promise<void>;
  /** Counts a request of this caller's key and owner. @throws RATE_LIMITED */
  count(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

/** By which strangers are told apart. Once the connection is gone there is none, which the type of `ip` does not say. */
export function addressOf({ ip = '' }: { ip: string | undefined }): string {
  // Some proxies name the port, too, which is another for each connection.
  const address = WITH_PORT.exec(ip)?.slice(1).find(Boolean) ?? ip;
  return isIP(address) === 0 ? 'unknown' : normalizeIP(address);
}

const WITH_PORT = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/;

/** Of whom there is one line. */
const STRANGERS = 'strangers';

/** The counters are in memory: every process has its own. */
export async function addRateLimits(
  app: FastifyInstance,
  db: Executor,
  shares: Pick<PoolShares, 'lookups' | 'spent' | 'strangers'>,
  limits: RateLimits,
): Promise<RateLimiter> {
  const { perKey, perOwner, perAddress, windowMs, knownKeys } = limits;
  // Not by the plugin's hooks: whether a request counts for its key or its address is known only between two of ours.
  await app.register(rateLimit, { global: false, timeWindow: windowMs, store: RateWindows });
  // The key comes first: what it is refused must not use up what its owner's other keys may send.
  const ofKey =
    perKey === 0 ? [] : [app.createRateLimit({ max: perKey, keyGenerator: ({ payer }) => payer?.keyId ?? '' })];
  const ofOwner = () =>
    perOwner === 0 ? [] : [app.createRateLimit({ max: perOwner, keyGenerator: ({ payer }) => payer?.id ?? '' })];
  const counters = [...ofKey, ...ofOwner()];
  // Nobody looks whether the key of what leads nowhere is still valid. What is sent with one that is not must not use up
  // what its owner may send otherwise, so it has a count of its own.
  const unroutedCounters = [...ofKey, ...ofOwner()];
  const strangerOf = app.createRateLimit({ max: perAddress, keyGenerator: addressOf });
  /** By fingerprint. */
  const known = new Map<string, Payer>();
  app.decorateRequest('payer', null);
  /** Skips the lookup if there was no stranger recently, which is nearly always. */
  let lastStranger = Number.NEGATIVE_INFINITY;
  /** Likewise, if nobody had used up a limit of theirs. */
  let lastSpent = Number.NEGATIVE_INFINITY;

  async function countStranger(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (perAddress === 0) return;
    lastStranger = performance.now();
    const requests = await strangerOf(request);
    if (!requests.isAllowed && requests.isExceeded) refuse(reply, requests);
  }

  /** What an address may send without a valid key, once it has used that up. */
  async function spentBy(request: FastifyRequest): Promise<Usage | undefined> {
    if (perAddress === 0 || performance.now() - lastStranger > windowMs) return undefined;
    const usage = await strangerOf(request, { increment: false });
    return !usage.isAllowed && usage.remaining === 0 ? usage : undefined;
  }

  /**
   * A turn to look up a key that is not known. After a restart none is: one that comes from the address of a flood must
   * become known all the same, so that beyond the limit of the address there still is one lookup at a time.
   */
  async function takeUnknown(request: FastifyRequest, reply: FastifyReply, fingerprint: string): Promise<() => void> {
    const address = addressOf(request);
    let spent = await spentBy(request);
    if (!spent) {
      const end = await shares.lookups.take(address);
      // What others before it in the line have used up counts.
      spent = await spentBy(request);
      if (!spent) return end;
      end();
    }
    if (fingerprint === '') refuse(reply, spent);
    return shares.spent.take(address);
  }

  /** Skips the lookup of a key that has nothing left of its limits. It is not looked up again until their window ends. */
  async function refuseSpent(request: FastifyRequest, reply: FastifyReply, payer: Payer | undefined): Promise<void> {
    if (!payer || performance.now() - lastSpent > windowMs) return;
    request.payer = payer;
    for (const counter of counters) {
      const usage = await counter(request, { increment: false });
      if (!usage.isAllowed && usage.remaining === 0) refuse(reply, usage);
    }
  }

  async function countFor(
    payer: Payer | null,
    request: FastifyRequest,
    reply: FastifyReply,
    by = counters,
  ): Promise<void> {
    request.payer = payer;
    let tightest: Usage | undefined;
    for (const counter of by) {
      const usage = await counter(request);
      if (usage.isAllowed) continue;
      if (usage.remaining === 0) lastSpent = performance.now();
      if (usage.isExceeded) refuse(reply, usage);
      if (tightest === undefined || usage.remaining < tightest.remaining) tightest = usage;
    }
    if (tightest) show(reply, tightest);
  }

  function remember(fingerprint: string, { id, keyId }: Payer): void {
    known.delete(fingerprint);
    known.set(fingerprint, { id, keyId });
    if (known.size > knownKeys) for (const idlest of known.keys().take(1)) known.delete(idlest);
  }

  async function lookUp(
    request: FastifyRequest,
    reply: FastifyReply,
    { fingerprint = '', caller }: Credentials,
  ): Promise<Caller> {
    try {
      return await caller(db);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') known.delete(fingerprint);
      // While the database is away every lookup fails, and each is an attempt to connect to it.
      const payer = known.get(fingerprint);
      if (payer) await countFor(payer, request, reply);
      else await countStranger(request, reply);
      throw error;
    }
  }

  return {
    countStranger,
    async countUnrouted(request, reply, { fingerprint = '' }) {
      const payer = known.get(fingerprint);
      if (payer && unroutedCounters.length > 0) await countFor(payer, request, reply, unroutedCounters);
      else await countStranger(request, reply);
    },

    async authenticate(request, reply, { fingerprint = '', caller }) {
      const isKnown = known.has(fingerprint);
      const end = await (isKnown ? shares.lookups.take(fingerprint) : takeUnknown(request, reply, fingerprint));
      try {
        const endOfStranger = isKnown ? undefined : await shares.strangers.take(STRANGERS);
        try {
          if (reply.isOver) throw new RequestAborted();
          await refuseSpent(request, reply, known.get(fingerprint));
          const found = await lookUp(request, reply, { fingerprint, caller });
          remember(fingerprint, found);
          return found;
        } finally {
          endOfStranger?.();
        }
      } finally {
        end();
      }
    },

    count: (request, reply) => countFor(request.caller, request, reply),
  };
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

/** By the names that draft-ietf-httpapi-ratelimit-headers had while it was three headers, which clients know. */
function show(reply: FastifyReply, { max, remaining, ttlInSeconds }: Usage): void {
  reply.header('ratelimit-limit', max).header('ratelimit-remaining', remaining).header('ratelimit-reset', ttlInSeconds);
}
