/** `/metrics` on its own port, so that a network can keep callers of the API away from it. */
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { answerClientErrors } from '../guard/client-errors.ts';
import { logAcceptErrors } from '../guard/connections.ts';
import { refusalLog, refusalLogs } from '../guard/refusal-log.ts';
import { sendError, toApiError } from '../http/error-handler.ts';
import { answerUnknown, collectMethods } from '../http/unknown-routes.ts';
import type { Metrics } from './metrics.ts';

/** Clients may scrape as often as they like, but not hold idle connections. */
const TIMEOUT_MS = 10_000;

/** Enough for all scrapers. */
const MOST_CONNECTIONS = 16;

export function buildMetricsServer(
  { contentType, bytes }: Pick<Metrics, 'contentType' | 'bytes'>,
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>,
  timeoutMs = TIMEOUT_MS,
): FastifyInstance {
  const app: FastifyInstance = Fastify({
    requestTimeout: timeoutMs,
    connectionTimeout: timeoutMs,
    http: { headersTimeout: timeoutMs, connectionsCheckingInterval: timeoutMs / 2 },
    clientErrorHandler: answerClientErrors(),
    forceCloseConnections: true,
  });
  const { server } = app;
  server.maxConnections = MOST_CONNECTIONS;
  server.on(
    'drop',
    refusalLog(
      log,
      { connections: MOST_CONNECTIONS },
      { first: 'refusing connections for metrics: there are too many', later: 'refused connections for metrics' },
    ),
  );
  logAcceptErrors(server, log);
  app.decorate('logRefusal', refusalLogs(log));
  app.setErrorHandler((error, request, reply) => {
    const answer = toApiError(error);
    // A probe that fails is asked again every few seconds.
    if (answer.code === 'UNAVAILABLE') app.logRefusal(answer.message);
    else if (answer.status >= 500) log.error({ err: error, request_id: request.id }, answer.message);
    sendError(answer, request, reply);
  });
  app.setNotFoundHandler(answerUnknown(collectMethods(app)));
  app.get('/metrics', async (_, reply) => reply.type(contentType).send(await bytes()));
  return app;
}
