/** The management API as a Fastify instance: no process, no listening, no set-up. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { Tracing } from '../tracing/tracing.ts';
import { NO_BASE } from './crud/view.ts';
import { invalidByRule, refused } from './errors/errors.ts';
import { OPERATIONS } from './families/all.ts';
import { addAccessLog } from './http/access-log.ts';
import { collectMethods, pathOf } from './http/allowed-methods.ts';
import { watchAnswers } from './http/answers.ts';
import { credentialsOf } from './http/authentication.ts';
import { readBody } from './http/body.ts';
import { BYTES_IN_FLIGHT, type BytesInFlightLimits, type Charge, createBytesInFlight } from './http/bytes-in-flight.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, limitConnections, refuseSurplus } from './http/connections.ts';
import {
  answerClientError,
  answerError,
  answerUnrouted,
  unsupportedCoding,
  unsupportedMediaType,
} from './http/error-handler.ts';
import { limitHandlers } from './http/handler-timeout.ts';
import { HEAD_LIMITS, headProblem, LINES_READ } from './http/head.ts';
import { addHealth } from './http/health.ts';
import { parseJson } from './http/json-body.ts';
import { LINGER, type Linger, lingerOnClose } from './http/lingering.ts';
import { LOAD_LIMITS, type LoadLimits, shedLoad } from './http/load-shedding.ts';
import { collectMetrics, METRICS_AGE_MS, type Metrics, serveMetrics } from './http/metrics.ts';
import { inLine, PIPELINING_LIMITS, type PipeliningLimits } from './http/pipelining.ts';
import { DEFAULT_PLATFORM, type Platform } from './http/platform.ts';
import { createPoolShares } from './http/pool-shares.ts';
import { addRateLimits, addressOf, RATE_LIMITS, type RateLimits } from './http/rate-limit.ts';
import { refusalLogs } from './http/refusal-log.ts';
import { requestId } from './http/request-id.ts';
import { addRoutes } from './http/route.ts';
import { addShutdown, SHUTDOWN, type ShutdownTimes } from './http/shutdown.ts';
import { addTraces } from './http/traces.ts';
import { openApiDocument } from './openapi/document.ts';
import { addDocs } from './openapi/page.ts';
import { createSecrets, type Secrets } from './secrets/sealing.ts';
import type { Database } from './store/database.ts';

declare module 'fastify' {
  interface FastifyInstance {
    metrics: Metrics;
  }
}

export interface AppOptions {
  db: Database;
  /** Default: secrets cannot be stored, and creating resources that have some is unavailable. */
  secrets?: Secrets | undefined;
  /** The domains and certificate authority of this installation; members that are left out get their default. */
  platform?: Partial<Platform> | undefined;
  logger?: FastifyBaseLogger | undefined;
  /** What `uri` members start with, without a trailing slash; default: as the request addressed this server. */
  baseUrl?: string | undefined;
  /** Maximum size of a body in bytes. Default 1 MiB. */
  bodyLimit?: number | undefined;
  timeouts?: Partial<Timeouts> | undefined;
  rateLimits?: Partial<RateLimits> | undefined;
  loadLimits?: Partial<LoadLimits> | undefined;
  connectionLimits?: Partial<ConnectionLimits> | undefined;
  pipelining?: Partial<PipeliningLimits> | undefined;
  linger?: Partial<Linger> | undefined;
  shutdown?: Partial<ShutdownTimes> | undefined;
  bytesInFlight?: Partial<BytesInFlightLimits> | undefined;
  /** Whether `/metrics` is served by something else. Default: by this instance. */
  metricsElsewhere?: boolean | undefined;
  /** How old the metrics may be that somebody is shown. Default 1 s. */
  metricsAgeMs?: number | undefined;
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. Default: none. */
  trustedProxies?: string[] | undefined;
  /** Default: no traces. */
  tracing?: Tracing | undefined;
}

/** In milliseconds. */
export interface Timeouts {
  /** To receive a request. */
  request: number;
  /** From its headers to its answer. */
  handler: number;
  /** From the answer until it is read to its end. */
  send: number;
  /** Of a connection without traffic. Default: a minute, or longer where a request may be handled or read for longer. */
  connection: number;
  /** Between requests of a connection. */
  keepAlive: number;
}

/**
 * `keepAlive` is above the 60 s of common load balancers, so that they close first and never write to a closed one.
 * `handler` is above that of one statement and the wait for a connection, whose answers say more.
 */
export const TIMEOUTS: Omit<Timeouts, 'connection'> = {
  request: 30_000,
  handler: 25_000,
  send: 60_000,
  keepAlive: 72_000,
};

/** Above the others, whose ends say more. */
const silence = ({ handler, send }: typeof TIMEOUTS) =>
  Math.min(handler, send) === 0 ? 0 : Math.max(60_000, handler + 5_000, send + 5_000);

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { db, secrets = createSecrets(undefined) } = options;
  const platform = { ...DEFAULT_PLATFORM, ...options.platform };
  const given = { ...TIMEOUTS, ...options.timeouts };
  const timeouts = { connection: silence(given), ...given };
  const bodyLimit = options.bodyLimit ?? 1024 * 1024;
  const log: Pick<FastifyBaseLogger, 'warn'> = options.logger ?? { warn: () => undefined };
  /** Why the router could not take the path of a request. */
  const unroutable = new WeakMap<IncomingMessage, Error>();
  const app: FastifyInstance = Fastify({
    ...(options.logger ? { loggerInstance: options.logger } : {}),
    // Our line per request is in access-log.ts.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: (request) => requestId(request.headers['x-request-id']),
    trustProxy: options.trustedProxies ?? false,
    serverFactory: (handle) =>
      httpServer(inLine(handle, { ...PIPELINING_LIMITS, ...options.pipelining }, log), timeouts),
    // Requests that still arrive on open connections while stopping are served (shutdown.ts).
    return503OnClosing: false,
    forceCloseConnections: false,
    // Fastify's limit is also one on the whole of a stop, which may be told to take longer, and would fail (shutdown.ts).
    pluginTimeout: 0,
    // Fastify would answer past all hooks: without a line in the log, and without counting for anybody.
    frameworkErrors: (error, { raw }, reply) => {
      unroutable.set(raw, error);
      raw.url = '/';
      app.routing(raw, reply.raw);
    },
    clientErrorHandler: answerClientError,
  });

  // Node's own answer to an Expect that it does not know is a 417 without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  if (options.tracing) addTraces(app, options.tracing);
  const methods = collectMethods(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  lingerOnClose(app.server, { ...LINGER, ...options.linger });
  const shutdown = addShutdown(app, { ...SHUTDOWN, ...options.shutdown });
  const connections = limitConnections(
    app,
    { ...CONNECTION_LIMITS, ...options.connectionLimits },
    options.trustedProxies ?? [],
  );
  const answerMissing = answerUnrouted(methods);
  app.setNotFoundHandler(answerMissing);
  app.setErrorHandler(answerError);
  app.decorateRequest('documentedPath', 'unmatched');
  addAccessLog(app);
  const bytes = createBytesInFlight({ ...BYTES_IN_FLIGHT, ...options.bytesInFlight });
  readJson(app, bodyLimit, (request) => bytes.ofAddress(addressOf(request)));
  const metrics = collectMetrics(app, { db, bytes, connections }, options.metricsAgeMs ?? METRICS_AGE_MS);
  app.decorate('metrics', metrics);
  app.decorate('logRefusal', refusalLogs(app.log));
  app.decorate('noteRefusal', (reason: string) => {
    metrics.refused();
    app.logRefusal(reason);
  });
  watchAnswers(app, { bytes, sendTimeoutMs: timeouts.send, metrics });
  const shares = createPoolShares(db);
  const rateLimiter = await addRateLimits(app, db, shares, { ...RATE_LIMITS, ...options.rateLimits });
  // Before Fastify's own handler, which would read the body first, and hold it for whoever sends one.
  app.addHook('onRequest', async (request, reply) => {
    const refusal = headProblem(request.raw) ?? unroutable.get(request.raw);
    const isRouted = !request.is404 && !methods.lacks(pathOf(request), request.method);
    if (isRouted && !refusal) return;
    await rateLimiter.countUnrouted(request, reply, credentialsOf(request.headers.authorization));
    if (refusal) throw refusal;
    answerMissing(request, reply);
    return reply;
  });
  if (!options.metricsElsewhere) serveMetrics(app, metrics, rateLimiter);
  addHealth(app, db, shutdown);

  await app.register(async (scope) => {
    limitHandlers(scope, timeouts.handler);
    refuseSurplus(scope, connections);
    shedLoad(scope, { ...LOAD_LIMITS, ...options.loadLimits });
    const baseOf = baseUrl(options.baseUrl);
    addRoutes(scope, OPERATIONS, {
      api: { db, secrets, platform, eventBase: options.baseUrl ?? NO_BASE },
      shares,
      rateLimiter,
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
    // Node takes the larger of the two for whole requests, whichever it is.
    headersTimeout: request,
    // It looks for late requests every 30 s unless told otherwise.
    connectionsCheckingInterval: Math.min(5_000, request / 2),
    keepAliveTimeout: keepAlive,
    // Node's own answer to a request without Host has no body; baseUrl() below refuses it where it matters.
    requireHostHeader: false,
    maxHeaderSize: HEAD_LIMITS.bytes,
    // What is read of a body before its caller is known, for whom nobody can count it yet: a piece or two of 64 KiB.
    highWaterMark: 16_384,
  };
  const server = createServer(options, listener).setTimeout(connection);
  server.maxHeadersCount = LINES_READ;
  return server;
}

/** Reads bodies of one type only, and reads them strictly (json-body.ts); those of other types must be empty. */
function readJson(app: FastifyInstance, limit: number, chargeOf: (stranger: FastifyRequest) => Charge): void {
  const unreadable = new WeakMap<FastifyRequest, Error>();
  // Not by the parser, after which Fastify would close the connection: requests that came behind this one would take effect
  // without an answer.
  app.addHook('preValidation', (request, _reply, done) => done(unreadable.get(request)));
  app.removeAllContentTypeParsers();
  for (const [type, read] of [
    ['application/json', readValue],
    ['*', readNothing],
  ] as const)
    app.addContentTypeParser(type, (request: FastifyRequest) => {
      request.charge ??= chargeOf(request);
      return read(request, request.charge).catch((error: Error) => void unreadable.set(request, error));
    });

  async function readValue(request: FastifyRequest, charge: Charge): Promise<unknown> {
    const body = await readBody(request, limit, charge);
    const charset = /;\s*charset="?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
    if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw unsupportedMediaType();
    const { 'content-encoding': coding = 'identity' } = request.headers;
    if (!/^\s*identity(?:\s*,\s*identity)*\s*$/i.test(coding)) throw unsupportedCoding();
    const parsed = parseJson(body);
    if ('reason' in parsed) throw refused({ body: parsed });
    charge.add(parsed.bytes);
    return parsed.value;
  }

  /** Some clients give an empty body the type of a form. */
  async function readNothing(request: FastifyRequest, charge: Charge): Promise<undefined> {
    await readBody(request, 0, charge, unsupportedMediaType);
  }
}

/** A valid Host header; anything else would end up in the links of responses. */
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

function baseUrl(configured: string | undefined): (request: Pick<FastifyRequest, 'headers'>) => string {
  if (configured !== undefined) return () => configured;
  return ({ headers: { host = '' } }) => {
    // Numbers may be too large for a port or an address.
    if (!HOST.test(host) || !URL.canParse(`http://${host}`))
      throw invalidByRule({ Host: 'must be a host name or address, optionally with a port' });
    return `http://${host}`;
  };
}
