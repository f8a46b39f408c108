/** The API as a running server: opens the database, migrates it, makes the first key, listens, and undoes all of it. */
import type { FastifyBaseLogger } from 'fastify';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded.ts';
import { readSettings } from '../settings/settings.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { startAccountDeletion } from './account-deletion.ts';
import { buildApp } from './app.ts';
import { bootstrap, bootstrapOperator, checkGivenKeys } from './bootstrap.ts';
import { startChallengeDns, startIssuance } from './certificate-issuance.ts';
import { openConfigured } from './configured-database.ts';
import { NO_BASE } from './crud/view.ts';
import { eventCourier, startEventDelivery } from './event-delivery.ts';
import { sealPlainSecrets } from './families/all.ts';
import { startHousekeeping } from './housekeeping.ts';
import { listen } from './listen.ts';
import { keyFromFile, openSecrets } from './secrets/rotation.ts';
import { type ApiConfig, apiSettings } from './settings.ts';
import { cannotKeepData, cannotUseDatabase } from './start-failure.ts';
import { stopTimes, within } from './stop-times.ts';
import { migrate } from './store/migrate.ts';
import { tracedDatabase } from './store/traced-database.ts';
import { buildMetricsServer } from './telemetry/metrics-server.ts';
import { createUndo } from './undo.ts';
import { watchWork } from './watched-work.ts';

export interface RunningApi {
  /** Where it listens, or BASE_URL when that is set. */
  url: string;
  /** Where it listens on this machine. */
  listening: string;
  /** The connection string in use: of the embedded PostgreSQL, if none was configured. */
  databaseUrl: string;
  /** Where the embedded PostgreSQL keeps its data, perhaps not as configured; undefined if another one is used. */
  dataDir: string | undefined;
  /** The first admin's API key, if this start generated it. It is stored nowhere else: show it once. */
  bootstrapKey: string | undefined;
  /** Where `/metrics` is served, if on a port of its own. */
  metricsUrl: string | undefined;
  /** Finishes the requests under way, at most for the shutdown timeout, then closes everything. */
  stop(): Promise<void>;
}

const DEFAULTS: ApiConfig = readSettings(apiSettings, {}, {});

/**
 * Starts the API. If that fails, stops everything that it has started and throws the cause.
 * @param settings overrides of the defaults
 * @param announceKey shows the first admin's API key, if this start generates it, before the key is committed
 * @param tracing stopped with the API
 * @throws CannotStart, BadSettings when a setting is to blame
 */
export async function startApi(
  settings: Partial<ApiConfig> = {},
  logger?: FastifyBaseLogger,
  announceKey: (key: string) => void = () => undefined,
  tracing?: Tracing,
): Promise<RunningApi> {
  const config = { ...DEFAULTS, ...settings };
  const { host, port } = config;
  const { closingMs, ...shutdown } = stopTimes(config);
  checkGivenKeys(config);
  const undo = createUndo();
  const ending = new AbortController();
  const stop = () => {
    ending.abort();
    return undo.run();
  };
  try {
    let { databaseUrl } = config;
    let embedded: EmbeddedPostgres | undefined;
    if (databaseUrl === undefined) {
      embedded = await startEmbedded(config.dataDir, logger);
      undo.add(embedded.stop);
      databaseUrl = embedded.url;
    }
    const { keys, source } = await keysFor(config, embedded);
    if (!keys)
      logger?.warn('ENCRYPTION_KEY is not set: resources with a private key or another secret cannot be created');
    const url = databaseUrl;
    const blameDatabase = (error: unknown) => {
      throw cannotUseDatabase(error, url);
    };
    await bringUpToDate(url, logger).catch(blameDatabase);
    const opened = openConfigured(url, config, logger);
    const db = tracing ? tracedDatabase(opened, tracing, databaseUrl) : opened;
    const { eventRetentionMs, eventDeliveryRetentionMs } = config;
    const housekeepingDone = startHousekeeping(db, {
      eventRetentionMs,
      eventDeliveryRetentionMs,
      logger,
      signal: ending.signal,
    });
    // Neither a hanging statement nor the receiver of traces may delay the end.
    undo.add(() => within(closingMs, Promise.all([housekeepingDone().then(() => db.close()), tracing?.stop()])));
    const secrets = await openSecrets(db, keys, source).catch(blameDatabase);
    if (keys) {
      const sealed = sealPlainSecrets(db, secrets, ending.signal).catch((error) =>
        logger?.warn({ err: error }, 'could not seal secrets of an earlier release; the next start tries again'),
      );
      undo.add(() => sealed);
    }

    const platform = {
      serviceDomains: config.serviceDomains,
      acmeAuthority: config.acmeAuthority,
      issuesCertificates: config.acmeDirectoryUrl !== undefined,
      eventAllowNetworks: config.eventAllowNetworks ?? [],
      eventHttpHosts: config.eventHttpHosts ?? [],
    };
    const courier = await eventCourier(db, platform);
    undo.add(() => courier.close());
    const eventBase = config.baseUrl ?? NO_BASE;
    const app = await buildApp({
      db,
      secrets,
      platform,
      courier,
      onChange: () => delivery?.wake(),
      logger,
      baseUrl: config.baseUrl,
      bodyLimit: config.bodyLimit,
      timeouts: { request: config.requestTimeoutMs, handler: config.handlerTimeoutMs },
      rateLimits: {
        perKey: config.rateLimit,
        perOwner: config.rateLimitPerOwner,
        perAddress: config.rateLimitUnauthenticated,
      },
      loadLimits: { eventLoopDelayMs: config.maxEventLoopDelayMs, rssBytes: config.maxRssBytes },
      bytesInFlight: {
        perKey: config.bytesInFlightPerKey,
        perOwner: config.bytesInFlightPerOwner,
        inAll: config.bytesInFlight,
      },
      metricsElsewhere: config.metricsPort !== undefined,
      connectionLimits: { most: config.maxConnections, perAddress: config.maxConnectionsPerAddress },
      shutdown,
      trustedProxies: config.trustedProxies,
      tracing,
    });
    const { metricsPort } = config;
    const metrics =
      metricsPort === undefined ? undefined : { port: metricsPort, app: buildMetricsServer(app.metrics, app.log) };
    // Stopped after the API, so that metrics can be read during the stop.
    undo.add(async () => metrics?.app.close());
    const api = { db, secrets, platform, eventBase, courier };
    const dns = await startChallengeDns(api, config, logger);
    undo.add(async () => dns?.stop());
    const endWatch = watchWork(db, logger);
    const { deadlineMs } = shutdown;
    const delivery = config.eventDelivery ? startEventDelivery(api, { logger, deadlineMs }) : undefined;
    if (!delivery) logger?.info('EVENT_DELIVERY is false: events wait for a process of "tunnel-operator worker"');
    const issuance = startIssuance(api, config, logger);
    const accountDeletion = startAccountDeletion(api, logger);
    // All in the time of the requests under way, also if the database or a receiver does not respond.
    undo.add(() =>
      Promise.all([
        app.close(),
        within(deadlineMs, Promise.all([delivery?.stop(), issuance?.stop(), accountDeletion.stop(), endWatch()])),
      ]),
    );
    const makeKey = () => bootstrap(db, config.bootstrapApiKey, eventBase, announceKey).catch(blameDatabase);
    // A given key works before the first request. A generated one is shown only once, so it is created last: after a
    // failed start, the next one must still generate a key.
    const given = config.bootstrapApiKey === undefined ? undefined : await makeKey();
    if (given?.unusable !== undefined)
      logger?.warn(
        { api_key_id: given.unusable },
        'BOOTSTRAP_API_KEY is not a working admin key: it has expired or has scopes, or its owner is inactive or no admin',
      );
    if (config.operatorApiKey !== undefined)
      await bootstrapOperator(db, config.operatorApiKey, eventBase).catch(blameDatabase);
    const listening = await listen(app, { host, port, names: { host: 'HOST', port: 'PORT' } });
    const names = { host: 'HOST', port: 'METRICS_PORT' };
    const metricsAt = metrics && (await listen(metrics.app, { host, port: metrics.port, names }));
    const { generated: bootstrapKey } = given ?? (await makeKey());
    return {
      url: config.baseUrl ?? listening,
      listening,
      metricsUrl: metricsAt && `${metricsAt}/metrics`,
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

async function startEmbedded(dataDir: string, logger: FastifyBaseLogger | undefined): Promise<EmbeddedPostgres> {
  const log = (message: string) => logger?.info(message);
  try {
    return await startEmbeddedPostgres({
      dataDir,
      log,
      warn: (error, message) => logger?.warn({ err: error }, message),
    });
  } catch (error) {
    throw cannotKeepData(error, dataDir);
  }
}

async function bringUpToDate(url: string, logger: FastifyBaseLogger | undefined): Promise<void> {
  const applied = await migrate(url, undefined, () =>
    logger?.warn('migrating: waiting for a lock that another database session holds; see pg_blocking_pids'),
  );
  if (applied.length > 0) logger?.info({ applied }, 'migrated the database');
}

/** The configured key, or for the embedded database the key that is kept beside its data. */
async function keysFor({ encryptionKey }: ApiConfig, embedded: EmbeddedPostgres | undefined) {
  if (encryptionKey !== undefined || !embedded) return { keys: encryptionKey, source: 'ENCRYPTION_KEY' };
  const file = `${embedded.dataDir}.encryption-key`;
  return { keys: await keyFromFile(file), source: file };
}
