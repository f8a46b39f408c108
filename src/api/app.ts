/** The management API as a Fastify instance: no process, no listening, no set-up. */
import { createServer, type RequestListener } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { Tracing } from '../tracing/tracing.ts';
import { NO_BASE } from './crud/view.ts';
import { invalidByRule } from './errors/errors.ts';
import { type Courier, NO_COURIER } from './events/wire/courier.ts';
import { OPERATIONS } from './families/all.ts';
import {
  BYTES_IN_FLIGHT,
  type BytesInFlightLimits,
  chargeResponses,
  createBytesInFlight,
} from './guard/bytes-in-flight.ts';
import { answerClientErrors, MAX_HEAD_BYTES } from './guard/client-errors.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, createConnections } from './guard/connections.ts';
import { deferContinue } from './guard/expect-continue.ts';
import { limitHandlers } from './guard/handler-timeout.ts';
import { LOAD_LIMITS, type LoadLimits, shedLoad } from './guard/load-shedding.ts';
import { createPoolShares } from './guard/pool-shares.ts';
import { addRateLimits, RATE_LIMITS, type RateLimits } from './guard/rate-limit.ts';
import { refusalLogs } from './guard/refusal-log.ts';
import { addShutdown, SHUTDOWN, type ShutdownTimes } from './guard/shutdown.ts';
import { addAccessLog } from './http/access-log.ts';
import { tellOfChanges } from './http/changes.ts';
import { answerError, sendError, toApiError } from './http/error-handler.ts';
import { recordLastUse } from './http/last-use.ts';
import { DEFAULT_PLATFORM, type Platform } from './http/platform.ts';
import { readBodies } from './http/request-body.ts';
import { requestId } from './http/request-headers.ts';
import { addRoutes } from './http/route.ts';
import { addUnknownRoutes, collectMethods } from './http/unknown-routes.ts';
import { addChallengeRoute } from './issuance/challenge-route.ts';
import { openApiDocument } from './openapi/document.ts';
import { addDocs } from './openapi/page.ts';
import { createSecrets, type Secrets } from './secrets/sealing.ts';
import type { Database } from './store/database.ts';
import { addHealth } from './telemetry/health.ts';
import { collectMetrics, METRICS_AGE_MS, type Metrics, serveMetrics } from './telemetry/metrics.ts';
import { addTraces } from './telemetry/traces.ts';

declare module 'fastify' {
  interface FastifyInstance {
    metrics: Metrics;
  }
}

export interface AppOptions {
  db: Database;
  /** Without it, secrets cannot be stored, and creating a resource that has one fails with UNAVAILABLE. */
  secrets?: Secrets | undefined;
  /** Sends test events. Default: one that sends nothing. */
  courier?: Pick<Courier, 'deliver'> | undefined;
  /** The domains and certificate authority of this installation. Omitted members get their default. */
  platform?: Partial<Platform> | undefined;
  logger?: FastifyBaseLogger | undefined;
  /** Prefix of `uri` members, without a trailing slash. Default: `http://` and the Host header of the request. */
  baseUrl?: string | undefined;
  /** Maximum size of a body in bytes. Default 1 MiB. */
  bodyLimit?: number | undefined;
  timeouts?: Partial<Timeouts> | undefined;
  rateLimits?: Partial<RateLimits> | undefined;
  loadLimits?: Partial<LoadLimits> | undefined;
  connectionLimits?: Partial<ConnectionLimits> | undefined;
  shutdown?: Partial<ShutdownTimes> | undefined;
  bytesInFlight?: Partial<BytesInFlightLimits> | undefined;
  /** Whether `/metrics` is served elsewhere. Default: by this instance. */
  metricsElsewhere?: boolean | undefined;
  /** Maximum age of the metrics served. Default 1 s. */
  metricsAgeMs?: number | undefined;
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. Default: none. */
  trustedProxies?: string[] | undefined;
  /** Default: no traces. */
  tracing?: Tracing | undefined;
  /** Called after each response to a request that may have changed something. */
  onChange?: (() => void) | undefined;
}

/** In milliseconds. */
export interface Timeouts {
  /** To receive a request. */
  request: number;
  /** From its headers to its response. */
  handler: number;
  /**
   * For which a connection may be silent, for example because its client does not read the response. Default: a minute,
   * or `handler` plus 5 s if that is longer.
   */
  connection: number;
  /** Between requests of a connection. */
  keepAlive: number;
}

/**
 * `keepAlive` is above the 60 s of common load balancers, so that they close first and never write to a closed connection.
 * `handler` is above the timeouts of a statement and of the wait for a connection, whose errors say more.
 */
export const TIMEOUTS: Omit<Timeouts, 'connection'> = { request: 30_000, handler: 25_000, keepAlive: 72_000 };

/** Time to receive the head of a request, from the opening of the connection or the end of the previous request. */
export const MAX_HEAD_MS = 10_000;

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { db, secrets = createSecrets(undefined) } = options;
  const platform = { ...DEFAULT_PLATFORM, ...options.platform };
  const given = { ...TIMEOUTS, ...options.timeouts };
  const silenceMs = given.handler === 0 ? 0 : Math.max(60_000, given.handler + 5_000);
  const timeouts = { connection: silenceMs, ...given };
  const log = options.logger ?? { warn: () => undefined, error: () => undefined };
  const connections = createConnections(
    { ...CONNECTION_LIMITS, ...options.connectionLimits },
    options.trustedProxies ?? [],
    log,
  );
  const app: FastifyInstance = Fastify({
    ...(options.logger ? { loggerInstance: options.logger } : {}),
    // access-log.ts logs requests.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: (request) => requestId(request.headers['x-request-id']),
    trustProxy: options.trustedProxies ?? false,
    serverFactory: (handle) => httpServer(connections.limitRequests(handle), timeouts),
    // Requests that arrive on open connections while the server stops are served (guard/shutdown.ts).
    return503OnClosing: false,
    forceCloseConnections: false,
    // A plugin timeout would also limit the time of a stop.
    pluginTimeout: 0,
    frameworkErrors: (error, request, reply) => sendError(toApiError(error), request, reply),
    clientErrorHandler: answerClientErrors(connections),
  });
  connections.watch(app.server);

  if (options.tracing) addTraces(app, options.tracing);
  const methods = collectMethods(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  app.setErrorHandler(answerError);
  const bytes = createBytesInFlight({ ...BYTES_IN_FLIGHT, ...options.bytesInFlight });
  const metrics = collectMetrics(app, { db, bytes, connections }, options.metricsAgeMs ?? METRICS_AGE_MS);
  app.decorate('metrics', metrics);
  app.decorate('logRefusal', refusalLogs(app.log));
  app.decorate('noteRefusal', (reason: string) => {
    metrics.refused();
    app.logRefusal(reason);
  });
  addAccessLog(app, metrics.aborted);
  const shutdown = addShutdown(app, { ...SHUTDOWN, ...options.shutdown }, connections);
  readBodies(app, options.bodyLimit ?? 1024 * 1024, bytes);
  chargeResponses(app, bytes);
  const shares = createPoolShares(db);
  const rateLimiter = await addRateLimits(app, shares, { ...RATE_LIMITS, ...options.rateLimits });
  addUnknownRoutes(app, methods, rateLimiter.countStranger);
  if (!options.metricsElsewhere) serveMetrics(app, metrics, rateLimiter);
  addHealth(app, db, shutdown);
  addChallengeRoute(app, db, rateLimiter.countStranger);
  const lastUse = recordLastUse(app, db);

  await app.register(async (scope) => {
    limitHandlers(scope, timeouts.handler);
    shedLoad(scope, { ...LOAD_LIMITS, ...options.loadLimits });
    if (options.onChange) tellOfChanges(scope, options.onChange);
    const baseOf = baseUrl(options.baseUrl);
    addRoutes(scope, OPERATIONS, {
      api: { db, secrets, platform, eventBase: options.baseUrl ?? NO_BASE, courier: options.courier ?? NO_COURIER },
      shares,
      rateLimiter,
      lastUse,
      bytes,
      baseOf,
    });
  });
  await addDocs(app, openApiDocument(), rateLimiter);
  return app;
}

function httpServer(listener: RequestListener, { request, connection, keepAlive }: Timeouts) {
  const options = {
    requestTimeout: request,
    headersTimeout: Math.min(MAX_HEAD_MS, request),
    // How often Node.js looks for late requests; every 30 s by default.
    connectionsCheckingInterval: Math.min(5_000, request / 2),
    keepAliveTimeout: keepAlive,
    // Node's own response to a request without Host has no body; baseUrl() refuses it where it matters.
    requireHostHeader: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    // Bounds what is read of a body before its caller is known; 64 KiB by default.
    highWaterMark: 16_384,
  };
  const server = createServer(options, listener).setTimeout(connection);
  deferContinue(server, listener);
  return server;
}

/** A valid Host header. It becomes part of the links in responses. */
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

function baseUrl(configured: string | undefined): (request: Pick<FastifyRequest, 'headers'>) => string {
  if (configured !== undefined) return () => configured;
  return ({ headers: { host = '' } }) => {
    // HOST does not check the range of a port or of the parts of an address.
    if (!HOST.test(host) || !URL.canParse(`http://${host}`))
      throw invalidByRule({ Host: 'must be a host name or address, optionally with a port' });
    return `http://${host}`;
  };
}
