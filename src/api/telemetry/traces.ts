/** A span per request, which continues the trace of its caller. Its ids are in every log line of the request. */
import type { FastifyInstance } from 'fastify';
import type { Tracing } from '../../tracing/tracing.ts';
import { ABORTED, PROBES } from '../http/access-log.ts';
import { pathOf } from '../http/unknown-routes.ts';

/** Call this before adding any other hook: their work belongs to the span. */
export function addTraces(app: FastifyInstance, tracing: Tracing): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { url, config } = request.routeOptions;
    const route = config.documentedPath ?? url;
    if (route !== undefined && PROBES.has(route)) return done();
    const { method, headers } = request;
    const span = tracing.begin({
      name: route === undefined ? method : `${method} ${route}`,
      kind: 'server',
      from: headers,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        // An unknown path may hold anything, and so may a query.
        'url.path': route === undefined ? undefined : pathOf(request),
        'url.scheme': request.protocol,
        'server.address': request.hostname,
        'http.response.header.x-request-id': [request.id],
      },
    });
    request.log = reply.log = request.log.child({ ...span.ids });
    // Also runs for aborted responses.
    reply.raw.once('close', () => {
      const status = reply.raw.writableFinished ? reply.statusCode : ABORTED;
      span.set({ 'http.response.status_code': status });
      if (status >= 500) span.fail(String(status));
      span.end();
    });
    span.within(done);
  });
}
