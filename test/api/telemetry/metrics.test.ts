/** The metrics that are counted and those that are read from their sources, on a fake clock. */
import { Socket } from 'node:net';
import Fastify, { type FastifyReply } from 'fastify';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { rateLimited } from '../../../src/api/errors/errors.ts';
import { type Charge, SHARED } from '../../../src/api/guard/bytes-in-flight.ts';
import { databaseObserver } from '../../../src/api/telemetry/database-metrics.ts';
import { countDeliveries, showBacklog } from '../../../src/api/telemetry/event-metrics.ts';
import { collectMetrics, countPrunedEvents, serveMetrics } from '../../../src/api/telemetry/metrics.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const MAX_AGE_MS = 1000;

const SOURCES = {
  db: { usage: () => ({ total: 7, idle: 3, waiting: 2 }) },
  bytes: { total: () => 11 },
  connections: {
    open: new Map(Array.from({ length: 5 }, () => [new Socket(), { requests: new Map(), usedAt: 0 }])),
    refused: () => 4,
  },
};

function start() {
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('documentedPath', 'unmatched');
  app.decorateRequest('charge', null);
  const elapsed: number[] = [];
  const note = async (_: unknown, reply: FastifyReply) => void elapsed.push(reply.elapsedTime);
  app.addHook('onResponse', note);
  const metrics = collectMetrics(app, SOURCES, MAX_AGE_MS);
  app.addHook('onResponse', note);
  const value = async (name: string) => {
    vi.advanceTimersByTime(MAX_AGE_MS);
    const lines = String(await metrics.bytes()).split('\n');
    return lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
  };
  return { app, metrics, elapsed, value };
}

test.each([
  ['tunnel_api_db_pool_connections{state="used"}', '4'],
  ['tunnel_api_db_pool_connections{state="idle"}', '3'],
  ['tunnel_api_db_pool_connections{state="waiting"}', '2'],
  ['tunnel_api_http_in_flight_bytes', '11'],
  ['tunnel_api_http_connections', '5'],
  ['tunnel_api_http_connections_refused_total', '4'],
  ['tunnel_api_http_requests_refused_total', '0'],
])('%s is %s on every read', async (name, expected) => {
  const { value } = start();
  expect([await value(name), await value(name)]).toEqual([expected, expected]);
});

test('counts refused and aborted requests and pruned events', async () => {
  const { metrics, value } = start();
  metrics.refused();
  metrics.aborted({ method: 'GET', documentedPath: '/{a}' });
  expect(await value('tunnel_api_http_requests_refused_total')).toBe('1');
  expect(await value('tunnel_api_http_requests_aborted_total{method="GET",route="/{a}"}')).toBe('1');
  const before = Number(await value('tunnel_api_events_pruned_total'));
  expect(before).toBeGreaterThanOrEqual(0);
  countPrunedEvents(3);
  expect(Number(await value('tunnel_api_events_pruned_total'))).toBe(before + 3);
});

test('counts statements, measures one in 16 by command, and counts errors of the database but no conflicts', async () => {
  const { value } = start();
  const refused = (code: string) => Object.assign(new Error(), { code });
  const series = [
    'tunnel_api_db_statements_total',
    'tunnel_api_db_statement_duration_seconds_count{command="COMMIT"}',
    'tunnel_api_db_statement_duration_seconds_count{command="failed"}',
    'tunnel_api_db_errors_total{condition="too_many_connections"}',
    'tunnel_api_db_errors_total{condition="other"}',
  ];
  const counts = () => Promise.all(series.map(async (name) => Number((await value(name)) ?? 0)));
  // Other tests of this process have a database, too.
  const before = await counts();
  for (let ran = 0; ran < 16; ran++) databaseObserver.ran('COMMIT', 0.01);
  databaseObserver.ran(undefined, 10);
  for (const code of ['53300', '23505', '42P01']) databaseObserver.failed(refused(code));
  expect(await counts()).toEqual(before.map((count, at) => count + (at === 0 ? 17 : 1)));
});

test('counts a request by method, documented path and status, with its duration in seconds', async () => {
  const { app, elapsed, value } = start();
  app.get('/a', async (request, reply) => {
    request.documentedPath = '/{a}';
    return reply.code(202).send();
  });
  await app.inject('/a');
  await app.inject('/a');
  const SERIES = '{method="GET",route="/{a}",status_code="202"}';
  expect(await value(`tunnel_api_http_request_duration_seconds_count${SERIES}`)).toBe('2');
  expect(await value(`tunnel_api_http_request_duration_seconds_bucket{le="0.001",${SERIES.slice(1)}`)).toMatch(
    /^[0-2]$/,
  );
  const milliseconds = Number(await value(`tunnel_api_http_request_duration_seconds_sum${SERIES}`)) * 1000;
  // The elapsed time just before and just after each request was counted.
  const [first = 0, afterFirst = 0, second = 0, afterSecond = 0] = elapsed;
  expect(milliseconds).toBeGreaterThan(first + second - 1e-6);
  expect(milliseconds).toBeLessThan(afterFirst + afterSecond + 1e-6);
});

test('the text is made once for all requests within its maximum age', async () => {
  const { metrics } = start();
  const first = await metrics.bytes();
  vi.advanceTimersByTime(MAX_AGE_MS - 1);
  expect(await metrics.bytes()).toBe(first);
  vi.advanceTimersByTime(1);
  const second = await metrics.bytes();
  expect(second).not.toBe(first);
  vi.advanceTimersByTime(MAX_AGE_MS - 1);
  expect(await metrics.bytes()).toBe(second);
});

test('a request for the metrics counts as a stranger, and the shared response is charged to nobody', async () => {
  const { app, metrics } = start();
  const seen: [string | undefined, Charge | null][] = [];
  app.addHook(
    'onResponse',
    async ({ routeOptions: { config }, charge }) => void seen.push([config.documentedPath, charge]),
  );
  let isRefused = false;
  const countStranger = async () => {
    if (isRefused) throw rateLimited(1);
  };
  const unused = () => Promise.reject(new Error('not for strangers'));
  serveMetrics(app, metrics, { countStranger, authenticate: unused });
  const { body, headers } = await app.inject('/metrics');
  expect([body, headers['content-type']]).toEqual([String(await metrics.bytes()), metrics.contentType]);
  isRefused = true;
  expect((await app.inject('/metrics')).body).not.toContain('tunnel_api_http_connections');
  expect(seen).toEqual([
    ['/metrics', SHARED],
    ['/metrics', null],
  ]);
});

test('counts deliveries by result and measures the time since their change', async () => {
  const { value } = start();
  const occurredAt = new Date(Date.now() - 20_000).toISOString();
  const samples = [
    ...['failed', 'delivered', 'given_up', 'dropped'].map((result) => `deliveries_total{result="${result}"}`),
    ...['10', '30'].map((le) => `delivery_delay_seconds_bucket{le="${le}"}`),
  ];
  const counts = async () =>
    Promise.all(samples.map(async (sample) => Number(await value(`tunnel_api_event_${sample}`)) || 0));
  const before = await counts();
  const states = ['pending', 'pending', 'pending', 'delivered', 'delivered', 'failed', 'dropped'] as const;
  countDeliveries(states.map((state) => ({ state, occurredAt })));
  // Other tests of this process deliver events, too.
  expect((await counts()).map((count, at) => count - (before[at] ?? 0))).toEqual([3, 2, 1, 1, 0, 2]);
});

test('shows what waits to be delivered, and nothing while that is not known', async () => {
  const { value } = start();
  const names = ['deliveries_pending', 'oldest_due_seconds', 'destinations_paused', 'destinations_failing'].map(
    (name) => `tunnel_api_event_${name}`,
  );
  const values = () => Promise.all(names.map(value));
  expect(await values()).toEqual([undefined, undefined, undefined, undefined]);
  showBacklog({ pending: 9, oldestDueSeconds: 1.5, pausedDestinations: 2, failingDestinations: 3 });
  expect(await values()).toEqual(['9', '1.5', '2', '3']);
  showBacklog(undefined);
  expect(await values()).toEqual([undefined, undefined, undefined, undefined]);
});
