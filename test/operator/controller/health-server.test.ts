import { Gauge, Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HealthServer, startHealthServer } from '../../../src/operator/controller/health-server.ts';
import { createControllerMetrics } from '../../../src/operator/controller/metrics.ts';
import { EVERYWHERE, listenAddress } from '../../../src/settings/listen-address.ts';

const problems: string[] = [];
const details: string[] = [];
let server: HealthServer;

beforeAll(async () => {
  const registry = new Registry();
  const { managed } = createControllerMetrics(registry);
  server = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    registry,
    beforeScrape: () => managed.set({ kind: 'IPPolicy' }, 3),
    readiness: () => ({ problems, details }),
  });
});
afterAll(() => server.close());

async function get(path: string) {
  const response = await fetch(server.url + path);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

describe('the operator answers on', () => {
  const plain = { type: 'text/plain; charset=utf-8' };

  test('/healthz, whatever its problems', async () => {
    problems.push('IPPolicy: not listed yet');
    expect(await get('/healthz')).toEqual({ status: 200, text: 'ok\n', ...plain });
    problems.pop();
  });

  test('/readyz with its problems, one on a line', async () => {
    expect(await get('/readyz')).toEqual({ status: 200, text: 'ok\n', ...plain });
    problems.push('one');
    expect(await get('/readyz?verbose')).toEqual({ status: 503, text: 'one\n', ...plain });
    problems.push('two');
    expect((await get('/readyz')).text).toBe('one\ntwo\n');
    details.push('BotUser: missing');
    expect(await get('/readyz')).toEqual({ status: 503, text: 'one\ntwo\nBotUser: missing\n', ...plain });
    problems.length = 0;
    expect(await get('/readyz')).toEqual({ status: 200, text: 'ok\nBotUser: missing\n', ...plain });
    details.length = 0;
  });

  test('/metrics with the gauges of this moment', async () => {
    const { status, type, text } = await get('/metrics?name=x');
    expect({ status, type }).toEqual({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
    expect(text).toContain('tunnel_operator_managed_objects{kind="IPPolicy"} 3\n');
  });

  test('nothing else', async () => {
    expect((await get('/healthz/')).status).toBe(404);
    expect((await get('/')).text).toBe('not found; try /metrics, /healthz or /readyz\n');
  });
});

test('a port that is taken is an error', async () => {
  const options = {
    host: '127.0.0.1',
    registry: new Registry(),
    beforeScrape: () => {},
    readiness: () => ({ problems: [], details: [] }),
  };
  const again = startHealthServer({ ...options, port: Number(new URL(server.url).port) });
  await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('the address to ask is one that can be connected to', async () => {
  const options = {
    port: 0,
    registry: new Registry(),
    beforeScrape: () => {},
    readiness: () => ({ problems: [], details: [] }),
  };
  const everywhere = await startHealthServer({ ...options, host: '0.0.0.0' });
  expect(everywhere.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await everywhere.close();
  const another = await startHealthServer({ ...options, host: '127.0.0.2' });
  expect(another.url).toMatch(/^http:\/\/127\.0\.0\.2:\d+$/);
  await another.close();
});

test('with IPv6 or without, everywhere includes the addresses of IPv4', async () => {
  const everywhere = await startHealthServer({
    host: listenAddress(EVERYWHERE),
    port: 0,
    registry: new Registry(),
    beforeScrape: () => {},
    readiness: () => ({ problems: [], details: [] }),
  });
  const { port } = new URL(everywhere.url);
  for (const url of [everywhere.url, `http://127.0.0.1:${port}`])
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await everywhere.close();
});

test('a scrape that hangs does not keep it from closing', async () => {
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
  const options = {
    host: '127.0.0.1',
    port: 0,
    registry,
    beforeScrape: () => {},
    readiness: () => ({ problems: [], details: [] }),
  };
  const closing = await startHealthServer(options);
  const scrape = fetch(`${closing.url}/metrics`);
  await asked;
  await Promise.all([closing.close(), expect(scrape).rejects.toThrow()]);
});
