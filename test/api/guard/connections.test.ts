/** Limits on connections and pipelined requests, and what happens beyond them. */
import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { type ConnectionLimits, logAcceptErrors } from '../../../src/api/guard/connections.ts';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';
import { open, type Peer, request } from './api-child.ts';

async function start(connectionLimits: Partial<ConnectionLimits>, trustedProxies: string[] = []) {
  const api = await startTestApi({ connectionLimits, trustedProxies });
  return { ...api, port: Number(new URL(await api.app.listen({ port: 0, host: '127.0.0.1' })).port) };
}

/** Opens a connection and waits for a first response on it. */
async function openUsed(api: { port: number }, from?: string): Promise<Peer> {
  const peer = await open(api, from);
  peer.socket.write(request('/healthz'));
  await peer.until(/"ok"/);
  return peer;
}

async function expectRefused(api: { port: number }, from?: string): Promise<void> {
  const peer = await open(api, from);
  await peer.untilEnded();
  expect(peer.received()).toBe('');
}

const metric = async ({ anonymous }: Awaited<ReturnType<typeof start>>, name: string) =>
  new RegExp(`^${name} (\\d+)$`, 'm').exec((await anonymous.get('/metrics')).text)?.[1];

const POLICY = request('/ip_policies', { method: 'POST', headers: { 'content-length': '0' } });

describe('connections', { skip: process.platform !== 'linux' }, () => {
  test('beyond the limit are closed, logged once and counted, until others close', async () => {
    const api = await start({ most: 2 }, ['127.0.0.0/8']);
    const peers = [await openUsed(api), await openUsed(api)];
    for (let n = 0; n < 3; n++) await expectRefused(api);
    expect([
      await metric(api, 'tunnel_api_http_connections'),
      await metric(api, 'tunnel_api_http_connections_refused_total'),
    ]).toEqual(['2', '3']);
    expect(api.logs.filter((line) => line.includes('refusing connections'))).toHaveLength(1);
    peers[0]?.socket.destroy();
    await waitFor('the end of the connection', async () => (await metric(api, 'tunnel_api_http_connections')) === '1');
    await openUsed(api);
  });

  test.each([
    ['of one address', { most: 10, perAddress: 2 }, 2],
    ['of one address, by default half of all', { most: 6 }, 3],
  ])('%s leave room for others', async (_, limits, most) => {
    const api = await start(limits);
    const own = [];
    for (let n = 0; n < most; n++) own.push(await openUsed(api, '127.0.0.2'));
    await expectRefused(api, '127.0.0.2');
    await openUsed(api, '127.0.0.3');
    own[0]?.socket.destroy();
    await waitFor(
      'the end of the connection',
      async () => (await metric(api, 'tunnel_api_http_connections')) === String(most),
    );
    await openUsed(api, '127.0.0.2');
  });

  test.each([
    ['a trusted proxy', { perAddress: 1 }, ['127.0.0.2']],
    ['a network of trusted proxies', { perAddress: 1 }, ['127.0.0.0/30']],
    ['an address, if there is no limit,', { perAddress: 0 }, []],
  ])('of %s are not limited', async (_, limits, proxies) => {
    const api = await start(limits, proxies);
    for (let n = 0; n < 3; n++) await openUsed(api, '127.0.0.2');
  });

  test('that cannot be accepted are logged', () => {
    const server = createServer();
    const logged: unknown[] = [];
    logAcceptErrors(server, { error: (...line: unknown[]) => void logged.push(line) });
    server.emit('error', new Error('EADDRINUSE'));
    expect(logged).toEqual([]);
    Object.defineProperty(server, 'listening', { value: true });
    const err = new Error('EMFILE');
    server.emit('error', err);
    expect(logged).toEqual([[{ err }, expect.any(String)]]);
  });
});

describe('requests on one connection', () => {
  test('are answered in order, even many at once', async () => {
    const api = await start({});
    const peer = await open(api);
    peer.socket.write(POLICY.repeat(7) + request('/healthz'));
    await peer.until(/"ok"/);
    expect(peer.received().match(/HTTP\/1\.1 \d+/g)).toEqual([...Array(7).fill('HTTP/1.1 201'), 'HTTP/1.1 200']);
  });

  test('beyond the limit close it, are logged once, and take no effect', async () => {
    const api = await start({ requests: 4 });
    for (let n = 0; n < 3; n++) {
      const peer = await open(api);
      peer.socket.write(POLICY.repeat(50));
      await peer.untilEnded();
    }
    expect(api.logs.filter((line) => line.includes('pipelining'))).toHaveLength(1);
    const [row] = await api.rows('select count(*)::int as count from ip_policies');
    expect(row?.count).toBeLessThanOrEqual(12);
  });

  test('are no longer in flight once a CONNECT has closed the connection', async () => {
    const api = await start({});
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies in access exclusive mode');
    const peer = await open(api);
    peer.socket.write(request('/ip_policies').repeat(3));
    await untilWaiting(api, 3);
    peer.socket.write('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n');
    await peer.untilEnded();
    await held.rollback();
    await waitFor('no bytes in flight', async () => (await metric(api, 'tunnel_api_http_in_flight_bytes')) === '0');
  });
});
