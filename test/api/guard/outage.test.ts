/** Rate limits while the database is down, so that requests neither fill the log nor delay its recovery. */
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createDatabase } from '../../../dev/database/databases.ts';
import { startPostgres } from '../../../dev/database/postgres.ts';
import type { RateLimits } from '../../../src/api/guard/rate-limit.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { atEnd } from '../../end-of-file.ts';
import { type Caller, startTestApi } from '../harness.ts';

/** Longer than any test, so that no second window begins. */
const windowMs = 3_600_000;

const server = await startPostgres();
atEnd(() => server.stop());
const databaseUrl = await createDatabase(server.url, 'outage');
await migrate(databaseUrl);
const start = (rateLimits: Partial<RateLimits>) =>
  startTestApi({ databaseUrl, rateLimits: { windowMs, ...rateLimits } });
const limited = await start({ perKey: 6, perAddress: 3 });

const known = await limited.newUser();

beforeAll(async () => {
  expect((await known.get('/ip_policies')).status).toBe(200);
  await server.crash();
});
// Fakes only the timer behind the minute of the log: waiting for the database needs real time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  return () => void vi.useRealTimers();
});

async function statuses(count: number, caller: Caller): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < count; n++) found.push((await caller.get('/ip_policies')).status);
  return found;
}

test('an address without a valid key has a limit, and a key that was valid when last seen has its own', async () => {
  const stranger = limited.withKey('', 'x');
  expect(await statuses(6, stranger)).toEqual([503, 503, 503, 429, 429, 429]);
  // The first of its six requests was sent before the outage.
  expect(await statuses(7, known)).toEqual([503, 503, 503, 503, 503, 429, 429]);
});
