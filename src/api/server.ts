/** The API as a running server: opens the database, migrates it, makes the first key, listens, and undoes all of it. */
import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded.ts';
import { readSettings } from '../settings/settings.ts';
import { buildApp } from './app.ts';
import { bootstrap } from './bootstrap.ts';
import { startHousekeeping } from './housekeeping.ts';
import { keyFromFile, openSecrets } from './secrets/rotation.ts';
import { type ApiConfig, apiSettings } from './settings.ts';
import { openDatabase } from './store/database.ts';
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
  /** Finishes the requests under way, then closes everything. */
  stop(): Promise<void>;
}

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
      timeouts: { request: config.requestTimeoutMs, handler: config.handlerTimeoutMs },
      rateLimits: {
        perKey: config.rateLimit,
        perOwner: config.rateLimitPerOwner,
        perAddress: config.rateLimitUnauthenticated,
      },
      loadLimits: { eventLoopDelayMs: config.maxEventLoopDelayMs, rssBytes: config.maxRssBytes },
      trustedProxies: config.trustedProxies,
    });
    undo.push(async () => void (await app.close()));
    undo.push(startHousekeeping(db, { eventRetentionMs: config.eventRetentionMs, logger }));
    // Before listening, so that no request meets a database without a key. Links in its events need no port.
    const linkBase = config.baseUrl ?? `http://${config.host}`;
    const { madeUp: bootstrapKey, repaired } = await bootstrap(db, config.bootstrapApiKey, linkBase);
    if (repaired) logger?.warn(repaired, 'BOOTSTRAP_API_KEY was no longer a working admin key; repaired it');
    await app.listen({ host: config.host, port: config.port });
    const listening = addressOf(app.server.address());
    return { url: config.baseUrl ?? listening, listening, databaseUrl, dataDir: embedded?.dataDir, bootstrapKey, stop };
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

function addressOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  const { family, port } = address;
  const wildcard = address.address === '::' || address.address === '0.0.0.0';
  const host = wildcard ? 'localhost' : family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${port}`;
}
