/** One line per request, of chosen members only: a header or a body can hold a secret. */
import type { FastifyInstance } from 'fastify';

/** Requested every few seconds by machines; logged at debug. */
const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

export function addAccessLog(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, documentedPath: route } = request;
    const level = PROBES.has(route) ? 'debug' : 'info';
    request.log[level](
      { method, route, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10 },
      'request',
    );
    done();
  });
}
