/** What the API does in the background, in a process without the API: the delivery of events, and certificates. */
import type { FastifyBaseLogger } from 'fastify';
import { startChallengeDns, startIssuance } from './certificate-issuance.ts';
import { openConfigured } from './configured-database.ts';
import { NO_BASE } from './crud/view.ts';
import { eventCourier, startEventDelivery } from './event-delivery.ts';
import { DEFAULT_PLATFORM } from './http/platform.ts';
import { listen } from './listen.ts';
import { openSecrets } from './secrets/rotation.ts';
import { cannotUseDatabase } from './start-failure.ts';
import { stopTimes, within } from './stop-times.ts';
import { requireMigrated } from './store/migrate.ts';
import { addHealth } from './telemetry/health.ts';
import { collectWorkerMetrics } from './telemetry/metrics.ts';
import { buildMetricsServer } from './telemetry/metrics-server.ts';
import { createUndo } from './undo.ts';
import { watchWork } from './watched-work.ts';
import type { WorkerConfig } from './worker-settings.ts';

export interface RunningWorker {
  /** Where it serves probes and metrics. */
  url: string;
  /** Releases its leases within the shutdown timeout, then closes everything. */
  stop(): Promise<void>;
}

/**
 * Starts the worker. If that fails, stops everything that it has started and throws the cause.
 * @throws CannotStart, BadEncryptionKey when a setting is to blame
 */
export async function startWorker(config: WorkerConfig, logger: FastifyBaseLogger): Promise<RunningWorker> {
  const { databaseUrl, host, port } = config;
  const { deadlineMs, closingMs } = stopTimes({ ...config, shutdownDelayMs: 0 });
  const undo = createUndo();
  let hasBegun = false;
  const stop = () => {
    hasBegun = true;
    return undo.run();
  };
  const blameDatabase = (error: unknown) => {
    throw cannotUseDatabase(error, databaseUrl);
  };
  try {
    const db = openConfigured(databaseUrl, config, logger);
    undo.add(() => within(closingMs, db.close()));
    await requireMigrated(db).catch(blameDatabase);
    const secrets = await openSecrets(db, config.encryptionKey).catch(blameDatabase);
    const { eventAllowNetworks = [], eventHttpHosts = [] } = config;
    const { serviceDomains } = config;
    const platform = { ...DEFAULT_PLATFORM, serviceDomains, eventAllowNetworks, eventHttpHosts };
    const courier = await eventCourier(db, platform);
    undo.add(() => courier.close());

    // Stopped after the work, so that metrics can be read during the stop.
    const app = buildMetricsServer(collectWorkerMetrics(db), logger);
    addHealth(app, db, { hasBegun: () => hasBegun });
    undo.add(() => app.close());
    const url = await listen(app, { host, port, names: { host: 'METRICS_HOST', port: 'METRICS_PORT' } });

    const endWatch = watchWork(db, logger);
    const api = { db, secrets, platform, eventBase: config.baseUrl ?? NO_BASE, courier };
    const dns = await startChallengeDns(api, config, logger);
    undo.add(async () => dns?.stop());
    const delivery = startEventDelivery(api, { logger, deadlineMs });
    const issuance = startIssuance(api, config, logger);
    // Also if the database or a receiver does not respond.
    undo.add(() => within(deadlineMs, Promise.all([delivery.stop(), issuance?.stop(), endWatch()])));
    return { url, stop };
  } catch (error) {
    await stop().catch((failure) => logger.error({ err: failure }, 'could not clean up after a failed start'));
    throw error;
  }
}
