/** The pool of connections that the settings ask for. */
import type { FastifyBaseLogger } from 'fastify';
import type { ApiConfig } from './settings.ts';
import { urlOfSameDatabase } from './store/connection-url.ts';
import { type Database, openDatabase } from './store/database.ts';
import { databaseObserver } from './telemetry/database-metrics.ts';

type DatabaseConfig = Pick<ApiConfig, 'poolSize' | 'statementTimeoutMs' | 'connectTimeoutMs' | 'latestDatabaseUrl'>;

export function openConfigured(
  url: string,
  { poolSize, statementTimeoutMs, connectTimeoutMs, latestDatabaseUrl: latest }: DatabaseConfig,
  logger: FastifyBaseLogger | undefined,
): Database {
  return openDatabase({
    url,
    poolSize,
    statementTimeoutMs,
    connectTimeoutMs,
    onError: (error) => logger?.warn({ err: error }, 'lost an idle connection to the database'),
    observer: databaseObserver,
    latestUrl:
      latest &&
      urlOfSameDatabase(
        url,
        () => latest() ?? url,
        () => logger?.warn('DATABASE_URL_FILE names another database now; restart to use it'),
      ),
  });
}
