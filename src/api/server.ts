/** The API as a running server: opens the database, migrates it, makes the first key, listens, and undoes all of it. */
import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded.ts';
import { readSettings } from '../settings/settings.ts';
import { buildApp } from './app.ts';
import { bootstrap } from './bootstrap.ts';
import { sweep } from './crud/idempotency.ts';
import { NO_BASE } from './crud/view.ts';
import type { Metrics } from './http/metrics.ts';
import { buildMetricsServer } from './http/metrics-server.ts';
import { keyFromFile, openSecrets } from './secrets/rotation.ts';
import { type ApiConfig, apiSettings } from './settings.ts';
import { type Database, openDatabase } from './store/database.ts';
import { migrate } from './store/migrate.ts';

export interface RunningApi {
  /** Where it listens, or BASE_URL when that is set. */
  url: string;
  /** Where it listens on this machine. */
  listening: string;
  /** The connection string in use: of the embedded PostgreSQL, if none was configured. */
  databaseUrl: string;
  /** Where the embedded PostgreSQL keeps its data, which may differ from the setting; undefined for any other one. */
  dataDir: string | undefined;
  /** The first admin's API key, if this start generated it. It is stored nowhere else: show it once. */
  bootstrapKey: string | undefined;
  /** Where `/metrics` is served, if on a port of its own. */
  metricsUrl: string | undefined;
  /** Finishes the requests under way, then closes everything. */
  stop(): Promise<void>;
}

const SWEEP_EVERY_MS = 10 * 60 * 1000;

const DEFAULTS: ApiConfig = readSettings(apiSettings, {}, {});

/**
 * Starts the API. Throws what made it impossible, with everything stopped that had been started.
 * @param settings what is to differ from the defaults
 */
export async function startApi(settings: Partial<ApiConfig> = {}, logger?: FastifyBaseLogger): Promise<RunningApi> {
  const config = { ...DEFAULTS, ...settings };
  const undo: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  };
  try {
    let { databaseUrl } = config;
    let embedded: EmbeddedPostgres | undefined;
    if (databaseUrl === undefined) {
      const log = (message: string) => logger?.info(message);
      embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
      undo.push(embedded.stop);
      databaseUrl = embedded.url;
    }
    const { keys, source } = await keysFor(config, embedded);
    if (!keys)
      logger?.warn('ENCRYPTION_KEY is not set: resources with a private key or a client secret cannot be created');
    const applied = await migrate(databaseUrl);
    if (applied.length > 0) logger?.info({ applied }, 'migrated the database');

    const db = openDatabase({
      url: databaseUrl,
      poolSize: config.poolSize,
      statementTimeoutMs: config.statementTimeoutMs,
      connectTimeoutMs: config.connectTimeoutMs,
      onError: (error) => logger?.warn({ err: error }, 'lost an idle connection to the database'),
    });
    undo.push(db.close);
    const secrets = await openSecrets(db, keys, source);

    const app = await buildApp({
      db,
      secrets,
      platform: { serviceDomains: config.serviceDomains, acmeAuthority: config.acmeAuthority },
      logger,
      baseUrl: config.baseUrl,
      bodyLimit: config.bodyLimit,
      timeouts: { request: config.requestTimeoutMs, handler: config.handlerTimeoutMs, send: config.sendTimeoutMs },
      rateLimits: { perKey: config.rateLimit, perAddress: config.rateLimitUnauthenticated },
      loadLimits: { eventLoopDelayMs: config.maxEventLoopDelayMs, rssBytes: config.maxRssBytes },
      bytesInFlight: {
        perKey: config.bytesInFlightPerKey,
        perOwner: config.bytesInFlightPerOwner,
        inAll: config.bytesInFlight,
      },
      metricsElsewhere: config.metricsPort !== undefined,
      trustedProxies: config.trustedProxies,
    });
    undo.push(async () => void (await app.close()));
    undo.push(sweeping(db, logger));
    // Before listening, so that no request meets a database without a key.
    const { madeUp: bootstrapKey, repaired } = await bootstrap(db, config.bootstrapApiKey, config.baseUrl ?? NO_BASE);
    if (repaired) logger?.warn(repaired, 'BOOTSTRAP_API_KEY was no longer a working admin key; repaired it');
    await app.listen({ host: config.host, port: config.port });
    const listening = addressOf(app.server.address());
    const metricsUrl = await serveMetrics(app.metrics, config, undo);
    return {
      url: config.baseUrl ?? listening,
      listening,
      metricsUrl,
      databaseUrl,
      dataDir: embedded?.dataDir,
      bootstrapKey,
      stop,
    };
  } catch (error) {
    await stop().catch((failure) => logger?.error({ err: failure }, 'could not clean up after a failed start'));
    throw error;
  }
}

/** As configured; else, for a database of our own, the key that is kept beside its data. */
async function keysFor({ encryptionKey }: ApiConfig, embedded: EmbeddedPostgres | undefined) {
  if (encryptionKey !== undefined || !embedded) return { keys: encryptionKey, source: 'ENCRYPTION_KEY' };
  const file = `${embedded.dataDir}.encryption-key`;
  return { keys: await keyFromFile(file), source: file };
}

/** Starts the server of METRICS_PORT, if that is set. */
async function serveMetrics(
  metrics: Metrics,
  { metricsPort: port, host }: ApiConfig,
  undo: (() => Promise<void>)[],
): Promise<string | undefined> {
  if (port === undefined) return undefined;
  const server = buildMetricsServer(metrics);
  undo.push(async () => void (await server.close()));
  await server.listen({ host, port });
  return `${addressOf(server.server.address())}/metrics`;
}

/** Periodically deletes expired records; returns a function that stops it. */
function sweeping(db: Database, logger: FastifyBaseLogger | undefined): () => Promise<void> {
  let current = Promise.resolve();
  const timer = setInterval(() => {
    current = sweep(db).catch((error) => logger?.warn({ err: error }, 'could not delete expired idempotency keys'));
  }, SWEEP_EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    return current;
  };
}

function addressOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  const { family, port } = address;
  const wildcard = address.address === '::' || address.address === '0.0.0.0';
  const host = wildcard ? 'localhost' : family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${port}`;
}
