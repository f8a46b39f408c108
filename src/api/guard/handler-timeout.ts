/**
 * Responds to a request whose handler takes too long. Fastify's own `handlerTimeout` does not: its timer ends as soon
 * as the request body has been read (https://github.com/fastify/fastify/pull/6725). Until then, the `requestTimeout` of
 * the server applies.
 */
import type { FastifyInstance } from 'fastify';
import { unavailable } from '../errors/errors.ts';

/**
 * Applies to the routes that are added to this instance from now on.
 * @param limitMs from the end of a request to its response; 0 for no limit
 */
export function limitHandlers(app: FastifyInstance, limitMs: number): void {
  if (limitMs === 0) return;
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const timer = setTimeout(() => {
      // Requests that Fastify injects do not have the member.
      if (raw.complete !== false && !reply.sent)
        reply.send(unavailable('The request took too long; whether it took effect is unknown.'));
    }, limitMs);
    raw.once('end', () => timer.refresh());
    reply.raw.once('close', () => clearTimeout(timer));
    done();
  });
}
