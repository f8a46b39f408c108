/**
 * An end for every request, also where its handler does not come to one. Fastify's `handlerTimeout` does the same with a
 * timer and an AbortController for each request.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerError } from './error-handler.ts';
import { unavailable } from './errors.ts';

export interface Deadlines {
  /** From now on the request has as long as requests have; after that it is answered 503, whatever its handler does. */
  begin(request: FastifyRequest, reply: FastifyReply): void;
  /** The request is answered, or about to be. */
  end(request: FastifyRequest): void;
}

interface Running {
  reply: FastifyReply;
  since: number;
}

/** @param limitMs 0 for no limit; a request may take up to a quarter, at most a second, longer. */
export function addDeadlines(app: FastifyInstance, limitMs: number): Deadlines {
  if (limitMs === 0) return { begin: () => undefined, end: () => undefined };
  /** In the order of their beginning. */
  const running = new Map<FastifyRequest, Running>();

  function look(): void {
    const before = performance.now() - limitMs;
    for (const [request, { reply, since }] of running) {
      // What did not reach its handler, refused or broken off, has not said that it ended.
      if (reply.sent || reply.raw.destroyed) running.delete(request);
      else if (since <= before) {
        running.delete(request);
        answerError(unavailable('The request took too long; whether it took effect is unknown.'), request, reply);
      }
    }
  }

  const timer = setInterval(look, Math.min(1_000, limitMs / 4)).unref();
  app.addHook('onClose', async () => clearInterval(timer));
  return {
    begin: (request, reply) => void running.set(request, { reply, since: performance.now() }),
    end: (request) => void running.delete(request),
  };
}
