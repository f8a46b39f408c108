/** The API as it runs in production: it logs, in batches, to nowhere. */
import { pino } from 'pino';
import { startApi } from '../src/api/server.ts';
import { BENCH_KEY, ENCRYPTION_KEY } from './keys.ts';
import { answerQuestions } from './questions.ts';

const nowhere = pino.destination({ dest: '/dev/null', sync: false, minLength: 4096 });
const api = await startApi(
  {
    databaseUrl: process.env.BENCH_DATABASE_URL,
    port: 0,
    bootstrapApiKey: BENCH_KEY,
    encryptionKey: ENCRYPTION_KEY,
    poolSize: 20,
    // Counted, but never refused.
    rateLimit: 1_000_000,
  },
  pino({ level: 'info' }, nowhere),
);
answerQuestions(api.listening, api.stop);
