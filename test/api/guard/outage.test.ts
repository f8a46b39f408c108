/** What requests cost while the database is away: nobody may fill the log, or keep it from coming back. */
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createDatabase } from '../../../dev/database/databases.ts';
import { startPostgres } from '../../../dev/database/postgres.ts';
import type { RateLimits } from '../../../src/api/guard/rate-limit.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { atEnd } from '../../end-of-file.ts';
import { type Caller, startTestApi } from '../harness.ts';

/** No test lives long enough to see the next window. */
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
// Only what the minute of the log is measured by: the database has to be waited for in real time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  return () => void vi.useRealTimers();
});

async function statuses(count: number, caller: Caller): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < count; n++) found.push((await caller.get('/ip_policies')).status);
  return found;
}

test('an address without a valid key has its limit, too, and a key that was valid when last seen has its own', async () => {
  const stranger = limited.withKey('', 'x');
  expect(await statuses(6, stranger)).toEqual([503, 503, 503, 429, 429, 429]);
  // One of its six was sent before.
  expect(await statuses(7, known)).toEqual([503, 503, 503, 503, 503, 429, 429]);
});
