/** `/metrics` on a port of its own, for networks that keep it from the callers of the API. */
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { collectMethods } from './allowed-methods.ts';
import { logAcceptErrors } from './connections.ts';
import { answerClientError, answerUnrouted, sendError, toApiError } from './error-handler.ts';
import { headProblem } from './head.ts';
import type { Metrics } from './metrics.ts';
import { refusalLog, refusalLogs } from './refusal-log.ts';

/** Whoever may reach it is trusted to ask as often as they like, but not to hold connections that do nothing. */
const TIMEOUT_MS = 10_000;

/** Enough for every scraper; they come out of the reserve of descriptors.ts. */
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
    clientErrorHandler: answerClientError,
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
    if (answer.status >= 500) log.error({ err: error, request_id: request.id }, answer.message);
    sendError(answer, request, reply);
  });
  app.addHook('onRequest', async ({ raw }) => {
    const problem = headProblem(raw);
    if (problem) throw problem;
  });
  app.setNotFoundHandler(answerUnrouted(collectMethods(app)));
  app.get('/metrics', async (_, reply) => reply.type(contentType).send(await bytes()));
  return app;
}
