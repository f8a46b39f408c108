/** How long a connection may do nothing. */
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { buildMetricsServer } from '../../../src/api/http/metrics-server.ts';
import { httpResponseBackend } from '../../../src/resources/http-response-backend.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ADMIN_KEY, atEnd, heldTransaction, startTestApi, type TestApi, untilWaiting } from '../harness.ts';
import { open, request } from './api-child.ts';

type Timeouts = NonNullable<Parameters<typeof startTestApi>[0]>['timeouts'];

async function connectedTo({ app }: Pick<TestApi, 'app'>): Promise<Socket> {
  const { port, hostname } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  onTestFinished(() => void socket.destroy());
  return socket;
}

const connected = async (timeouts: Timeouts) => connectedTo(await startTestApi({ timeouts }));

/** All that comes until the server closes the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let received = '';
  socket.on('data', (text: string) => {
    received += text;
  });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return received;
}

test('a connection on which nothing happens is closed, also in the middle of a request that may take for ever', async () => {
  const socket = await connected({ connection: 300, request: 0, handler: 0 });
  const head = ['POST /ip_policies HTTP/1.1', 'host: a', `authorization: Bearer ${ADMIN_KEY}`];
  socket.write([...head, 'content-type: application/json', 'content-length: 100', '', '{'].join('\r\n'));
  expect(await untilClosed(socket)).not.toContain('HTTP/1.1 2');
});

test.each([
  ['longer than an answer may be read by default', {}, 65_000],
  ['a minute at least', { handler: 1_000, send: 1_000 }, 60_000],
  ['longer than a request may be handled', { handler: 90_000 }, 95_000],
  ['longer than an answer may be read', { send: 120_000 }, 125_000],
  ['for ever, if a request may be handled for ever', { handler: 0 }, 0],
  ['for ever, if an answer may be read for ever', { send: 0 }, 0],
])('a connection may be without traffic for %s', async (_, timeouts, timeout) => {
  const { app } = await startTestApi({ timeouts });
  expect(app.server.timeout).toBe(timeout);
});

test('a connection is kept for the next request for longer than the 60 s of common load balancers', async () => {
  expect((await startTestApi()).app.server.keepAliveTimeout).toBe(72_000);
});

test('a request that was refused before its body came has no second answer when that does not come', async () => {
  const socket = await connected({ request: 500 });
  socket.write('POST /ip_policies HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{');
  expect((await untilClosed(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
});

test.each([
  ['more of it', '1\r\n}\r\n0\r\n\r\n'],
  ['its end', '0\r\n\r\n'],
])('what arrives of a body after its request was answered is held by nobody: %s', async (_, rest) => {
  const api = await startTestApi({ timeouts: { handler: 300 } });
  const socket = await connectedTo(api);
  let received = '';
  socket.on('data', (text: string) => {
    received += text;
  });
  const answered = (status: number) => waitFor(`a ${status}`, () => received.includes(`HTTP/1.1 ${status} `));
  const head = ['POST /ip_policies HTTP/1.1', 'host: a', `authorization: Bearer ${ADMIN_KEY}`];
  const more = ['content-type: application/json', 'transfer-encoding: chunked', '', '1', '{', ''];
  socket.write([...head, ...more].join('\r\n'));
  await answered(503);
  socket.write(`${rest}GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n`);
  await answered(200);
  const { text } = await api.anonymous.get('/metrics');
  expect(text).toMatch(/^http_in_flight_bytes 0$/m);
  expect(api.logs.filter((line) => line.includes('already sent'))).toEqual([]);
});

test('the head of a second request that does not come has an answer of its own', async () => {
  const socket = await connected({ request: 500 });
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET /healthz HTTP/1.1\r\n');
  expect((await untilClosed(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503']);
});

test('a connection is kept between requests for as long as the answer says', async () => {
  const socket = await connected({ connection: 0, keepAlive: 2_000 });
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  const received = await untilClosed(socket);
  expect(received).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toMatch(/\r\nkeep-alive: timeout=2\r\n/i);
});

test('whoever does not read an answer in time is cut, which the log and the metrics say', async () => {
  const api = await startTestApi({ timeouts: { send: 200 } });
  const body = '\u0001'.repeat(64 * 1024);
  const { id } = (await api.admin.post('/backends/http_response', { body })).as(httpResponseBackend.view);
  const get = [`GET /backends/http_response/${id} HTTP/1.1`, 'host: a', `authorization: Bearer ${ADMIN_KEY}`];
  const socket = await connectedTo(api);
  socket.on('error', () => undefined).pause();
  socket.write([...get, 'x-request-id: unread', '', ''].join('\r\n').repeat(30));
  await waitFor('the cut', async () =>
    /^http_answers_cut_total [1-9]/m.test((await api.anonymous.get('/metrics')).text),
  );
  const lines = () => api.logs.filter((line) => line.includes('"unread"'));
  expect(lines().some((line) => line.includes('did not read its answer in time'))).toBe(true);
  await waitFor('the end of the requests', async () => {
    const isTold = lines().some((line) => line.includes('"aborted":true'));
    return isTold && /^http_in_flight_bytes 0$/m.test((await api.anonymous.get('/metrics')).text);
  });
});

test('the time in which an answer has to be read does not pass while the answers before it are not there', async () => {
  const SEND_MS = 200;
  const api = await startTestApi({ timeouts: { send: SEND_MS } });
  const { id } = (await api.admin.post('/ip_policies', {})).as(ipPolicy.view);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('select 1 from ip_policies where id = $1 for update', [id]);
  const peer = await open({ port: Number(new URL(await api.app.listen({ port: 0, host: '127.0.0.1' })).port) });
  peer.socket.write(request(`/ip_policies/${id}`, { method: 'DELETE' }) + request('/whoami'));
  await untilWaiting(api, 1);
  // Several times as long as an answer may take to be read.
  await new Promise((resolve) => setTimeout(resolve, 5 * SEND_MS));
  await held.rollback();
  expect(await peer.until(/^HTTP\/1\.1 204 [\s\S]*HTTP\/1\.1 200 /)).toContain('HTTP/1.1 200');
});

test('by default it is kept for longer than the minute of a load balancer', async () => {
  const socket = await connected({});
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  const [first] = await new Promise<[string]>((resolve) => socket.once('data', (text: string) => resolve([text])));
  expect(Number(/\r\nkeep-alive: timeout=(\d+)\r\n/i.exec(first)?.[1])).toBeGreaterThan(60);
});

describe('whatever Node does by itself,', () => {
  /** Without any timeout of Node's own. */
  async function start(connectionLimits: NonNullable<Parameters<typeof startTestApi>[0]>['connectionLimits']) {
    const { app } = await startTestApi({ timeouts: { connection: 0, request: 0, keepAlive: 0 }, connectionLimits });
    return { port: Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port) };
  }

  test('a connection that has sent nothing is closed without an answer, one that has is not', async () => {
    const api = await start({ firstByteMs: 1_000 });
    const used = await open(api);
    used.socket.write(request('/healthz'));
    await used.until(/"ok"/);
    const silent = await open(api);
    expect(await silent.untilEnded()).toBe('closed');
    expect(silent.received()).toBe('');
    // It was opened before the other.
    used.socket.write(request('/healthz'));
    await used.until(/"ok"[\s\S]*"ok"/);
  });

  test('a connection beyond the cap is closed before it has sent its request', async () => {
    const api = await start({ most: 1, surplus: 2, surplusMs: 200, firstByteMs: 600_000, restMs: 600_000 });
    const served = await open(api);
    served.socket.write(request('/healthz'));
    await served.until(/"ok"/);
    const [silent, half] = [await open(api), await open(api)];
    half.socket.write('GET /healthz HTTP/1.1\r\nHo');
    for (const peer of [silent, half]) {
      expect(await peer.untilEnded()).toBe('closed');
      expect(peer.received()).toBe('');
    }
    served.socket.write(request('/healthz'));
    await served.until(/"ok"[\s\S]*"ok"/);
  });
});

describe('the server of METRICS_PORT closes a connection', () => {
  async function start() {
    const log = { warn: () => undefined, error: () => undefined };
    const bytes = async () => Buffer.alloc(40_000_000, 'x');
    const app = buildMetricsServer({ contentType: 'text/plain', bytes }, log, 300);
    atEnd(() => app.close());
    const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
    const connections = () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
    return { port, connections };
  }

  test.each([
    ['that sends nothing', '', ''],
    ['whose header never ends', 'GET /metrics HTTP/1.1\r\n', 'x: y\r\n'],
    ['whose body never ends', 'POST /metrics HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n', 'x'],
  ])('%s', async (_, first, more) => {
    const peer = await open(await start());
    peer.socket.write(first);
    const timer = setInterval(() => peer.socket.writable && peer.socket.write(more), 20);
    await peer.untilEnded();
    clearInterval(timer);
    expect(peer.received()).not.toContain('HTTP/1.1 200');
  });

  test('that does not read', async () => {
    const { port, connections } = await start();
    const peer = await open({ port });
    peer.socket.pause();
    peer.socket.write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n');
    await waitFor('the server to close it', async () => (await connections()) === 0);
  });
});
