/** An API for one test file, in the process of the tests and with its own database. */
import { pino } from 'pino';
import { keyring } from '../../src/api/secrets/keyring.ts';
import { startApi } from '../../src/api/server.ts';
import type { ApiConfig } from '../../src/api/settings.ts';
import { migrate } from '../../src/api/store/migrate.ts';
import { withCheckAtEnd } from '../api/events/overdue.ts';
import { createTestDatabase } from '../harness.ts';
import type { ApiPods } from './pods.ts';

const SCHEMA = { name: 'template_api', prepare: async (url: string) => void (await migrate(url)) };

/** @param logs receives the lines of its log */
export async function startOwnApi(
  apiKey: string,
  encryptionKey: string,
  logs: string[],
  settings: Partial<ApiConfig> = {},
): Promise<ApiPods> {
  const databaseUrl = await createTestDatabase(SCHEMA);
  const log = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const api = await startApi(
    {
      databaseUrl,
      port: 0,
      bootstrapApiKey: apiKey,
      encryptionKey: keyring.parse(encryptionKey),
      poolSize: 10,
      // The tests, the operators and this API share an event loop, on a machine that may be busy.
      maxEventLoopDelayMs: 0,
      ...settings,
    },
    log,
  );
  return { ...withCheckAtEnd(api), metricsUrl: `${api.url}/metrics` };
}
