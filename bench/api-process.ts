/** The API as it runs in production; its log is discarded. */
import { startApi } from '../src/api/server.ts';
import { createLogger } from '../src/log.ts';
import { BENCH_KEY, KEYRING } from './keys.ts';
import { answerQuestions } from './questions.ts';

const api = await startApi(
  {
    databaseUrl: process.env.BENCH_DATABASE_URL,
    port: 0,
    bootstrapApiKey: BENCH_KEY,
    encryptionKey: KEYRING,
    poolSize: 20,
    eventDelivery: process.env.BENCH_EVENT_DELIVERY !== 'false',
    // Requests are counted, but never refused.
    rateLimit: 1_000_000,
    rateLimitPerOwner: 1_000_000,
    rateLimitUnauthenticated: 1_000_000,
  },
  createLogger({ level: 'info', format: 'json' }),
);
answerQuestions(api.listening, api.stop);
