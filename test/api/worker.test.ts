/** Events delivered by a worker, while the API delivers none. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiConfig } from '../../src/api/settings.ts';
import { openDatabase } from '../../src/api/store/database.ts';
import { startWorker } from '../../src/api/worker.ts';
import { workerSettings } from '../../src/api/worker-settings.ts';
import { eventDestination } from '../../src/resources/event-destination.ts';
import { destinationTest } from '../../src/resources/event-destination-calls.ts';
import { CannotStart } from '../../src/settings/cannot-start.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { atEnd } from '../end-of-file.ts';
import { createTestDatabase } from '../harness.ts';
import { metricSum } from '../metric-sum.ts';
import { startReceiver } from './events/chaos-receiver.ts';
import { ADMIN_KEY, emptyDatabase } from './harness.ts';
import { startedApi } from './started-api.ts';

const ENVIRONMENT = {
  DATABASE_URL: await emptyDatabase(),
  ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  EVENT_ALLOW_NETWORKS: '127.0.0.0/8',
  EVENT_HTTP_HOSTS: '127.0.0.1',
  METRICS_HOST: '127.0.0.1',
  METRICS_PORT: '0',
};
const { databaseUrl, encryptionKey, eventAllowNetworks, eventHttpHosts } = settings({});
const db = openDatabase({ url: databaseUrl, poolSize: 1, statementTimeoutMs: 10_000, connectTimeoutMs: 5_000 });
atEnd(() => db.close());
const query = (text: string) => db.query({ text, values: [] });

function settings(environment: Record<string, string>) {
  return readSettings(workerSettings, {}, { ...ENVIRONMENT, ...environment });
}
const start = (environment: Record<string, string> = {}) =>
  startWorker(settings(environment), pino({ level: 'silent' }));

async function apiWithoutDelivery() {
  const config: Partial<ApiConfig> = { databaseUrl, encryptionKey, eventAllowNetworks, eventHttpHosts };
  const api = await startedApi({ ...config, bootstrapApiKey: ADMIN_KEY, eventDelivery: false });
  atEnd(api.stop);
  async function ask<T>(schema: z.ZodType<T>, path: string, body?: unknown): Promise<T> {
    const { status, text } = await api.ask(ADMIN_KEY, path, body);
    expect(status, text).toBeLessThan(300);
    return schema.parse(JSON.parse(text));
  }
  const metrics = async () => (await api.ask('', '/metrics')).text;
  return { ask, metrics, stop: api.stop };
}

test('an API that delivers nothing shows what waits, and tests destinations; a worker delivers and sends again', async () => {
  const receiver = await startReceiver(() => 204);
  const first = await apiWithoutDelivery();
  const { id, signing_secret } = await first.ask(
    eventDestination.view.extend({ signing_secret: z.string() }),
    '/event_destinations',
    { target: { webhook: { url: receiver.url } } },
  );
  receiver.secret = signing_secret;
  const sources = [{ type: 'ip_policy_created.v0' }];
  await first.ask(z.object({}), '/event_subscriptions', { sources, destination_ids: [id] });
  const policy = await first.ask(z.object({ id: z.string() }), '/ip_policies', {});
  expect(await first.ask(destinationTest, `/event_destinations/${id}/test`, {})).toMatchObject({ delivered: true });
  await query("update events set occurred_at = now() - interval '1 hour' where type = 'ip_policy_created.v0'");
  await first.stop();

  // The next one looks at its start, and not only a while later.
  const api = await apiWithoutDelivery();
  const oldest = async () => metricSum(await api.metrics(), 'tunnel_api_event_oldest_due_seconds');
  await expect.poll(oldest).toBeGreaterThanOrEqual(3600);
  const subjects = () => receiver.arrivals.map(({ subject }) => subject);
  expect(subjects()).toEqual([id]);

  const worker = await start();
  atEnd(worker.stop);
  await expect.poll(subjects).toEqual([id, policy.id]);
  const deliveries = z.object({ event_deliveries: z.array(z.object({ id: z.string(), state: z.string() })) });
  const list = async () => (await api.ask(deliveries, '/event_deliveries')).event_deliveries;
  await expect.poll(list).toMatchObject([{ state: 'delivered' }]);
  const [delivery] = await list();
  await api.ask(z.object({}), `/event_deliveries/${delivery?.id}/redeliver`, {});
  await expect.poll(subjects).toEqual([id, policy.id, policy.id]);
  expect(receiver.invalid).toEqual([]);
});

test('a worker answers probes and scrapers, and nobody else', async () => {
  const worker = await start();
  const get = async (path: string) => {
    const response = await fetch(`${worker.url}${path}`);
    return { status: response.status, text: await response.text() };
  };
  expect(await get('/healthz')).toMatchObject({ status: 200 });
  expect(await get('/readyz')).toMatchObject({ status: 200 });
  const { text } = await get('/metrics');
  for (const name of ['event_deliveries_total', 'event_deliveries_pending', 'db_pool_connections', 'build_info'])
    expect(text).toContain(`tunnel_api_${name}`);
  expect(text).not.toContain('tunnel_api_http_');
  expect(await get('/ip_policies')).toMatchObject({ status: 404 });

  await query('update schema_migrations set version = 100000 where version = 1');
  expect(await get('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('migrations') });
  await query('update schema_migrations set version = 1 where version = 100000');
  await worker.stop();
  await expect(get('/healthz')).rejects.toThrow();
});

test('a worker of an older release starts on a database that is ahead', async () => {
  await query("insert into schema_migrations (version, name, checksum) values (100000, '100000_later.sql', 'x')");
  await (await start()).stop();
});

test.each<[string, () => Promise<Record<string, string>>, RegExp]>([
  [
    'a database without the schema',
    async () => ({ DATABASE_URL: await createTestDatabase() }),
    /^DATABASE_URL: .*it lacks migrations of this release \(\d+\): run "tunnel-operator migrate", or start the API/,
  ],
  [
    'a database of an older release',
    async () => {
      const url = await emptyDatabase();
      const old = openDatabase({ url, poolSize: 1, statementTimeoutMs: 10_000, connectTimeoutMs: 5_000 });
      await old.query({ text: 'delete from schema_migrations where version = 2', values: [] });
      await old.close();
      return { DATABASE_URL: url };
    },
    /lacks migrations of this release \(0002_\w+\.sql\)/,
  ],
  [
    'no database',
    async () => ({ DATABASE_URL: Object.assign(new URL(databaseUrl), { port: '1' }).href }),
    /^DATABASE_URL: .*ECONNREFUSED/,
  ],
  [
    'a port in use',
    async () => {
      const other = await start();
      atEnd(other.stop);
      return { METRICS_PORT: new URL(other.url).port };
    },
    /^METRICS_PORT: port \d+ of 127\.0\.0\.1 is in use/,
  ],
])('a worker does not start with %s, and says so', async (_, environment, message) => {
  const failed = start(await environment());
  await expect(failed).rejects.toThrow(CannotStart);
  await expect(failed).rejects.toThrow(message);
});
