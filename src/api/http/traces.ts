/** A span per request, which continues the trace of its caller. Its ids are in every line that is logged about it. */
import type { FastifyInstance } from 'fastify';
import type { Tracing } from '../../tracing/tracing.ts';
import { PROBES } from './access-log.ts';
import { pathOf } from './allowed-methods.ts';
import { ABORTED } from './body.ts';

/** Before all other hooks: what they do belongs to the span. */
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
        // What strangers ask for may hold anything; the query of ours, too.
        'url.path': route === undefined ? undefined : pathOf(request),
        'url.scheme': request.protocol,
        'server.address': request.hostname,
        'http.response.header.x-request-id': [request.id],
      },
    });
    request.log = reply.log = request.log.child({ ...span.ids });
    // Also of an answer that nobody waits for any more.
    reply.raw.once('close', () => {
      const status = reply.raw.writableFinished ? reply.statusCode : ABORTED;
      span.set({ 'http.response.status_code': status });
      if (status >= 500) span.fail(String(status));
      span.end();
    });
    span.within(done);
  });
}
