/** What requests cost while the database is away: nobody may fill the log, or keep it from coming back. */
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createDatabase } from '../../../dev/database/databases.ts';
import { startPostgres } from '../../../dev/database/postgres.ts';
import type { RateLimits } from '../../../src/api/guard/rate-limit.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { atEnd } from '../../end-of-file.ts';
import { type Caller, startTestApi, type TestApi } from '../harness.ts';

const MINUTE_MS = 60_000;
/** No test lives long enough to see the next window. */
const windowMs = 3_600_000;

const server = await startPostgres();
atEnd(() => server.stop());
const databaseUrl = await createDatabase(server.url, 'outage');
await migrate(databaseUrl);
const start = (rateLimits: Partial<RateLimits>) =>
  startTestApi({ databaseUrl, rateLimits: { windowMs, ...rateLimits } });
const limited = await start({ perKey: 6, perAddress: 3 });
const unlimited = await start({});

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

const line = z.looseObject({ level: z.number() });
/** What was logged beyond the lines of single requests. */
const warnings = ({ logs }: TestApi) =>
  logs.map((text) => line.parse(JSON.parse(text))).filter(({ level, msg }) => level >= 40 && msg !== 'request');

test('an address without a valid key has its limit, too, and a key that was valid when last seen has its own', async () => {
  const stranger = limited.withKey('', 'x');
  expect(await statuses(6, stranger)).toEqual([503, 503, 503, 429, 429, 429]);
  // One of its six was sent before.
  expect(await statuses(7, known)).toEqual([503, 503, 503, 503, 503, 429, 429]);
});

test('requests that fail for it are a line with the reason at once, and then one a minute with their number', async () => {
  const failure = { level: 50, condition: 'ECONNREFUSED', msg: expect.stringContaining('database is not available') };
  expect(await statuses(30, unlimited.withKey('', 'x'))).toEqual(Array(30).fill(503));
  const [first, ...others] = warnings(unlimited);
  expect(others).toEqual([]);
  expect(first).toMatchObject({ ...failure, request_id: expect.any(String) });
  expect(first).toMatchObject({ err: { stack: expect.stringContaining('ECONNREFUSED') } });
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(warnings(unlimited).slice(1)).toMatchObject([{ ...failure, failed: 30 }]);
  expect(warnings(unlimited)[1]).not.toHaveProperty('err');
  expect(await statuses(2, unlimited.admin)).toEqual([503, 503]);
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(warnings(unlimited).slice(2)).toMatchObject([{ ...failure, failed: 2 }]);
});
