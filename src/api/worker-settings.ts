/** Settings of the worker: those of the API that it needs, and where it listens. */
import { healthListener } from '../settings/health-listener.ts';
import type { Settings, Values } from '../settings/settings.ts';
import { certificateSettings } from './certificate-settings.ts';
import { keyring } from './secrets/keyring.ts';
import { type ApiConfig, apiSettings, postgresUrl } from './settings.ts';

const { poolSize, statementTimeoutMs, connectTimeoutMs, eventAllowNetworks, eventHttpHosts } = apiSettings;

export const workerSettings = {
  databaseUrl: {
    ...apiSettings.databaseUrl,
    description:
      'the PostgreSQL of the API, as postgres://user@host/database; if it holds a password, prefer the variable to the flag',
    schema: postgresUrl,
  },
  encryptionKey: {
    ...apiSettings.encryptionKey,
    description: 'the same keys as in the API, which decrypt targets and signing secrets',
    schema: keyring,
  },
  baseUrl: {
    ...apiSettings.baseUrl,
    description: 'base URL of links in events about paused destinations, as in the API',
  },
  poolSize,
  statementTimeoutMs,
  connectTimeoutMs,
  eventAllowNetworks,
  eventHttpHosts,
  serviceDomains: apiSettings.serviceDomains,
  ...certificateSettings,
  ...healthListener,
  shutdownTimeoutMs: apiSettings.shutdownTimeoutMs,
} as const satisfies Settings;

export type WorkerConfig = Values<typeof workerSettings> & Pick<ApiConfig, 'latestDatabaseUrl'>;
