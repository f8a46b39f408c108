/** A rate limiter whose keys, lookups and clock are those of the test; without a database. */
import Fastify, { type FastifyReply } from 'fastify';
import { afterEach, beforeEach, onTestFinished, vi } from 'vitest';
import { ApiError, unauthenticated } from '../../../src/api/errors/errors.ts';
import type { Credentials } from '../../../src/api/http/authentication.ts';
import { createPoolShares } from '../../../src/api/http/pool-shares.ts';
import { addRateLimits, RATE_LIMITS, type RateLimits } from '../../../src/api/http/rate-limit.ts';
import { RequestAborted } from '../../../src/api/http/request-aborted.ts';

export const WINDOW_MS = 10_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.advanceTimersByTime(100 * WINDOW_MS);
});
afterEach(() => void vi.useRealTimers());

/** Until all that can go on without the test has done so. */
export const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
};

type Path = '/keyed' | '/open' | '/nowhere';
type Ask = { key?: string; from?: string };

/** Keys are called `<owner>-<number>`; with nobody's, or with those that are revoked, nothing is found. */
export async function startLimiter(limits: Partial<RateLimits>, poolSize = 10) {
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('caller', null);
  app.decorateReply('isOver', false);
  const off = { perKey: 0, perOwner: 0, perAddress: 0, windowMs: WINDOW_MS };
  const db = { query: () => Promise.reject(new Error('there is none')) };
  const limiter = await addRateLimits(app, db, createPoolShares({ poolSize }), { ...RATE_LIMITS, ...off, ...limits });
  const lookups: string[] = [];
  const revoked = new Set<string>();
  let [failure, gate]: [Error | undefined, Promise<void>] = [undefined, Promise.resolve()];
  const credentialsOf = (key: string): Credentials => ({
    fingerprint: key === '' ? undefined : key,
    async caller() {
      if (key !== '') lookups.push(key);
      await gate;
      if (failure) throw failure;
      const owner = /^(\w+)-\d+$/.exec(key)?.[1];
      if (owner === undefined || revoked.has(key)) throw unauthenticated('unknown');
      return { id: owner, keyId: key, admin: false, secret: 'x' };
    },
  });
  const replies: FastifyReply[] = [];
  const keyOf = ({ headers }: { headers: Record<string, unknown> }) => credentialsOf(String(headers.key));
  app.addHook('onRequest', async (_, reply) => void replies.push(reply));
  app.get('/keyed', async (request, reply) => {
    request.caller = await limiter.authenticate(request, reply, keyOf(request));
    await limiter.count(request, reply);
    return 'x';
  });
  app.get('/open', async (request, reply) => {
    await limiter.countStranger(request, reply);
    return 'x';
  });
  app.get('/nowhere', async (request, reply) => {
    await limiter.countUnrouted(request, reply, keyOf(request));
    return reply.code(404).send();
  });
  app.setErrorHandler((error, _, reply) => {
    if (error instanceof RequestAborted) return reply.code(499).send();
    return error instanceof ApiError ? reply.code(error.status).headers(error.headers).send() : reply.code(500).send();
  });
  const send = (path: Path, { key = '', from = '192.0.2.1' }: Ask = {}) =>
    app.inject({ url: path, headers: { key }, remoteAddress: from });
  return {
    send,
    lookups,
    revoked,
    replies,
    status: async (path: Path, ask?: Ask) => (await send(path, ask)).statusCode,
    statuses: async (path: Path, asks: Ask[]) => {
      const found: number[] = [];
      for (const ask of asks) found.push((await send(path, ask)).statusCode);
      return found;
    },
    /** Status, and which limit leaves how much. */
    seen: async (path: Path, ask?: Ask) => {
      const { statusCode, headers } = await send(path, ask);
      return [statusCode, headers['ratelimit-limit'], headers['ratelimit-remaining']].map(Number);
    },
    fail: (error: Error | undefined) => {
      failure = error;
    },
    /** Holds all lookups until it is told to go on. */
    hold: () => {
      const held = Promise.withResolvers<void>();
      gate = held.promise;
      return held.resolve;
    },
  };
}

export const [A1, A2, B1] = [{ key: 'a-1' }, { key: 'a-2' }, { key: 'b-1' }];
