/** Prometheus metrics: requests by route, connections, and the process. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { collectProcessMetrics, showBuild } from '../../process-metrics.ts';
import { type BytesInFlight, SHARED } from '../guard/bytes-in-flight.ts';
import type { Connections } from '../guard/connections.ts';
import type { RateLimiter } from '../guard/rate-limit.ts';
import type { Database } from '../store/database.ts';
import { registerCertificateMetrics } from './certificate-metrics.ts';
import { registerDatabaseMetrics } from './database-metrics.ts';
import { registerEventMetrics } from './event-metrics.ts';

export interface Metrics {
  /** A client went away before it had its response. */
  aborted(request: Pick<FastifyRequest, 'method' | 'documentedPath'>): void;
  /** A request was refused because of load. */
  refused(): void;
  /** The media type of the metrics. */
  readonly contentType: string;
  /** The metrics as text; the same for all requests within `maxAgeMs`. */
  bytes(): Promise<Buffer>;
}

/** Shorter than any interval at which metrics are scraped. */
export const METRICS_AGE_MS = 1_000;

/** One per process, however many servers it runs (tests run many): its collectors watch the process, not a server. */
let ofProcess: Registry | undefined;

const eventsPruned = new Counter({
  name: 'tunnel_api_events_pruned_total',
  help: 'Events that were deleted after their retention.',
  registers: [],
});

export const countPrunedEvents = (count: number): void => eventsPruned.inc(count);

function processMetrics(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry();
    collectProcessMetrics(ofProcess);
    showBuild(ofProcess, 'tunnel_api');
    ofProcess.registerMetric(eventsPruned);
    registerDatabaseMetrics(ofProcess);
    registerEventMetrics(ofProcess);
    registerCertificateMetrics(ofProcess);
  }
  return ofProcess;
}

/** Sources that are read at each scrape. */
export interface Sources {
  db: Pick<Database, 'usage'>;
  bytes: Pick<BytesInFlight, 'total'>;
  connections: Pick<Connections, 'open' | 'refused'>;
}

function showPool(register: Registry, db: Pick<Database, 'usage'>): void {
  new Gauge({
    name: 'tunnel_api_db_pool_connections',
    help: 'Connections to the database, by state; "waiting" counts requests for one.',
    labelNames: ['state'] as const,
    registers: [register],
    collect() {
      const { total, idle, waiting } = db.usage();
      this.set({ state: 'used' }, total - idle);
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'waiting' }, waiting);
    },
  });
}

/** All metrics of the API, including those of the process. */
export function createMetrics({ db, bytes, connections }: Sources) {
  const register = new Registry();
  const duration = new Histogram({
    name: 'tunnel_api_http_request_duration_seconds',
    help: 'Duration of HTTP requests, by documented path.',
    labelNames: ['method', 'route', 'status_code'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [register],
  });
  showPool(register, db);
  new Gauge({
    name: 'tunnel_api_http_in_flight_bytes',
    help: 'Bytes of request bodies being received or handled and of responses not yet sent.',
    registers: [register],
    collect() {
      this.set(bytes.total());
    },
  });
  new Gauge({
    name: 'tunnel_api_http_connections',
    help: 'Open connections of clients.',
    registers: [register],
    collect() {
      this.set(connections.open.size);
    },
  });
  new Counter({
    name: 'tunnel_api_http_connections_refused_total',
    help: 'Connections of clients that were refused because there were too many.',
    registers: [register],
    collect() {
      this.reset();
      this.inc(connections.refused());
    },
  });
  const aborted = new Counter({
    name: 'tunnel_api_http_requests_aborted_total',
    help: 'Requests whose client went away before it had its response.',
    labelNames: ['method', 'route'] as const,
    registers: [register],
  });
  const refused = new Counter({
    name: 'tunnel_api_http_requests_refused_total',
    help: 'Requests that were refused because the process was overloaded.',
    registers: [register],
  });
  return { registry: Registry.merge([processMetrics(), register]), duration, aborted, refused };
}

/** Observes the requests to routes that are added from now on. */
export function collectMetrics(app: FastifyInstance, sources: Sources, maxAgeMs: number): Metrics {
  const { registry, duration, aborted, refused } = createMetrics(sources);
  app.addHook('onResponse', ({ method, documentedPath: route }, { statusCode, elapsedTime }, done) => {
    duration.observe({ method, route, status_code: String(statusCode) }, elapsedTime / 1000);
    done();
  });

  return {
    aborted: ({ method, documentedPath: route }) => aborted.inc({ method, route }),
    refused: () => refused.inc(),
    contentType: registry.contentType,
    bytes: textOf(registry, maxAgeMs),
  };
}

/** The metrics of a process that serves no requests, under the same names as in the API. */
export function collectWorkerMetrics(
  db: Pick<Database, 'usage'>,
  maxAgeMs = METRICS_AGE_MS,
): Pick<Metrics, 'contentType' | 'bytes'> {
  const register = new Registry();
  showPool(register, db);
  const registry = Registry.merge([processMetrics(), register]);
  return { contentType: registry.contentType, bytes: textOf(registry, maxAgeMs) };
}

const textOf = (registry: Registry, maxAgeMs: number) =>
  shared(async () => Buffer.from(await registry.metrics()), maxAgeMs);

/** Makes one result for all requests within `maxAgeMs`. */
function shared<T>(make: () => Promise<T>, maxAgeMs: number): () => Promise<T> {
  let made: Promise<T> | undefined;
  let since = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (made && now - since < maxAgeMs) return made;
    since = now;
    made = make();
    return made;
  };
}

/** Serves the metrics without a key, within the limit for clients that have none. */
export function serveMetrics(app: FastifyInstance, metrics: Metrics, rateLimiter: RateLimiter): void {
  app.get('/metrics', { config: { documentedPath: '/metrics' } }, async (request, reply) => {
    await rateLimiter.countStranger(request, reply);
    request.charge = SHARED;
    return reply.type(metrics.contentType).send(await metrics.bytes());
  });
}
