/** `/metrics` on a port of its own, for networks that keep it from the callers of the API. */
import Fastify, { type FastifyInstance } from 'fastify';
import { collectMethods } from './allowed-methods.ts';
import { answerClientError, answerUnrouted } from './error-handler.ts';
import type { Metrics } from './metrics.ts';

/** Whoever may reach it is trusted to ask as often as they like, but not to hold connections that do nothing. */
const TIMEOUT_MS = 10_000;

export function buildMetricsServer({ contentType, bytes }: Metrics): FastifyInstance {
  const app: FastifyInstance = Fastify({
    requestTimeout: TIMEOUT_MS,
    connectionTimeout: TIMEOUT_MS,
    http: { headersTimeout: TIMEOUT_MS, connectionsCheckingInterval: TIMEOUT_MS / 2 },
    clientErrorHandler: answerClientError,
    return503OnClosing: false,
    forceCloseConnections: true,
  });
  app.setNotFoundHandler(answerUnrouted(collectMethods(app)));
  app.decorateRequest('reasons', null);
  app.get('/metrics', async (_, reply) => reply.type(contentType).send(await bytes()));
  return app;
}
