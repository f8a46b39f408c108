/** The API as it runs in production: it logs, in batches, to nowhere. */
import { pino } from 'pino';
import { startApi } from '../src/api/server.ts';

const nowhere = pino.destination({ dest: '/dev/null', sync: false, minLength: 4096 });
const api = await startApi(
  {
    databaseUrl: process.env.BENCH_DATABASE_URL,
    port: 0,
    bootstrapApiKey: 'tnl_ak_of_the_benchmark_0123456789',
    poolSize: 20,
    // Counted, but never refused.
    rateLimit: 1_000_000,
  },
  pino({ level: 'info' }, nowhere),
);
process.send?.(api.listening);
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
process.once('SIGTERM', () => api.stop().then(() => process.disconnect()));
