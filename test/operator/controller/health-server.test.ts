import { Gauge, Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { type HealthServerOptions, startHealthServer } from '../../../src/operator/controller/health-server.ts';
import { createControllerMetrics } from '../../../src/operator/controller/metrics.ts';

const PLAIN = 'text/plain; charset=utf-8';

async function serve(options: Partial<HealthServerOptions> = {}) {
  const server = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    registry: new Registry(),
    beforeScrape: () => {},
    readiness: () => ({ problems: [], details: [] }),
    ...options,
  });
  onTestFinished(() => server.close());
  const get = async (path: string) => {
    const response = await fetch(server.url + path);
    return [response.status, response.headers.get('content-type'), await response.text()];
  };
  return { server, get };
}

test.each([
  ['is ready', [], [], 200, 'ok\n'],
  ['is ready, with a detail', [], ['BotUser: missing'], 200, 'ok\nBotUser: missing\n'],
  ['has problems', ['one', 'two'], ['BotUser: missing'], 503, 'one\ntwo\nBotUser: missing\n'],
])('an operator that %s says so on /readyz, and is alive on /healthz', async (_, problems, details, status, text) => {
  const { get } = await serve({ readiness: () => ({ problems, details }) });
  expect(await get('/readyz?verbose')).toEqual([status, PLAIN, text]);
  expect(await get('/healthz')).toEqual([200, PLAIN, 'ok\n']);
});

test('/metrics has the current gauges, and other paths are not found', async () => {
  const registry = new Registry();
  const { managed } = createControllerMetrics(registry);
  const { get } = await serve({ registry, beforeScrape: () => managed.set({ kind: 'IPPolicy' }, 3) });
  const [status, type, text] = await get('/metrics?name=x');
  expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  expect(text).toContain('tunnel_operator_managed_objects{kind="IPPolicy"} 3\n');
  expect(await get('/')).toEqual([404, PLAIN, 'not found; try /metrics, /healthz or /readyz\n']);
});

test('the URL of the server can be connected to, and a port that is in use is an error', async () => {
  const { server } = await serve({ host: '0.0.0.0' });
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const again = serve({ host: '0.0.0.0', port: Number(new URL(server.url).port) });
  await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect((await serve({ host: '127.0.0.2' })).server.url).toMatch(/^http:\/\/127\.0\.0\.2:\d+$/);
});

test('a scrape that hangs does not keep the server from closing', async () => {
  const registry = new Registry();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  new Gauge({
    name: 'hanging',
    help: 'Never read.',
    registers: [registry],
    collect() {
      ask();
      return new Promise(() => {});
    },
  });
  const { server } = await serve({ registry });
  const scrape = fetch(`${server.url}/metrics`);
  await asked;
  await Promise.all([server.close(), expect(scrape).rejects.toThrow()]);
});
