/** Many connections at once, to a process that may open few files. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { ConnectionLimits } from '../../../src/api/http/connections.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { errorBody } from '../../../src/resources/definition/errors.ts';
import { ADMIN_KEY, heldTransaction, startTestApi, untilWaiting } from '../harness.ts';
import { type ApiChild, open, type Peer, request, startApiChild } from './api-child.ts';

/** Returns when the server has accepted or closed all of them. */
async function openIdle(api: ApiChild, count: number, from?: string): Promise<Peer[]> {
  return Promise.all(Array.from({ length: count }, () => open(api, from)));
}

/** The whole answer to one request on a connection of its own; undefined when it was closed without one. */
async function ask(api: { port: number }, path: string, from?: string): Promise<string | undefined> {
  const peer = await open(api, from);
  peer.socket.write(request(path, { headers: { connection: 'close' } }));
  await peer.untilEnded();
  return peer.received() === '' ? undefined : peer.received();
}

const refusals = async (api: ApiChild) =>
  (await api.log()).filter(({ level, msg }) => level === 40 && msg.includes('refusing connections'));

describe('400 idle connections to a process that may open 300 files', () => {
  test('leave it alive: it refuses those beyond the cap, says so once, and serves others in their place', async () => {
    const api = await startApiChild({ MAX_CONNECTIONS_PER_ADDRESS: '0' }, 300);
    const idle = await openIdle(api, 400);
    await waitFor('refused connections in the log', async () => (await refusals(api)).length > 0);
    // They need descriptors for the database, too, and get them.
    for (const path of ['/ip_policies', '/healthz']) {
      await waitFor(path, async () => (await ask(api, path))?.startsWith('HTTP/1.1 200 '));
    }

    // They go by themselves, and nobody is told anything unasked.
    for (const peer of idle) await peer.untilEnded();
    expect(idle.map((peer) => peer.received()).join('')).toBe('');
    expect(await ask(api, '/ip_policies')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await refusals(api)).toHaveLength(1);
    const grave = (await api.log()).filter(({ level }) => level >= 40);
    expect(new Set(grave.map(({ msg }) => msg)).size).toBe(grave.length);
    expect(grave.filter(({ level }) => level >= 50)).toEqual([]);
    expect(api.child.exit()).toBeUndefined();
  }, 90_000);

  test.runIf(process.platform === 'linux')(
    'of one address leave room for the others',
    async () => {
      const api = await startApiChild({}, 300);
      await openIdle(api, 400);
      await waitFor('refused connections in the log', async () => (await refusals(api)).length > 0);
      expect(await ask(api, '/ip_policies', '127.0.0.2')).toMatch(/^HTTP\/1\.1 200 /);
      const metrics = await ask(api, '/metrics', '127.0.0.2');
      expect(metrics).toMatch(/^http_connections [1-9]\d*$/m);
      expect(metrics).toMatch(/^http_connections_refused_total [1-9]\d*$/m);
      expect(api.child.exit()).toBeUndefined();
    },
    60_000,
  );

  test('on METRICS_PORT leave room for the API, and go by themselves', async () => {
    const port = await freePort();
    const api = await startApiChild({ METRICS_PORT: String(port) }, 300);
    const scraped = { ...api, port };
    const idle = await openIdle(scraped, 400);
    const dropped = async () => (await refusals(api)).filter(({ msg }) => msg.includes('metrics'));
    await waitFor('refused connections in the log', async () => (await dropped()).length > 0);
    // More at once than one connection to the database serves, so that it needs descriptors.
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(api, '/ip_policies')));
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(idle.filter((peer) => peer.end() === undefined).length).toBeLessThanOrEqual(16);
    for (const peer of idle) await peer.untilEnded();
    expect(await ask(scraped, '/metrics')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await dropped()).toHaveLength(1);
    expect((await api.log()).filter(({ level }) => level >= 50)).toEqual([]);
    expect(api.child.exit()).toBeUndefined();
  }, 90_000);

  test.runIf(process.platform === 'linux')(
    'of a proxy are those of many clients',
    async () => {
      const api = await startApiChild({ TRUST_PROXY: '127.0.0.0/8' }, 300);
      await openIdle(api, 150);
      expect(await ask(api, '/ip_policies')).toMatch(/^HTTP\/1\.1 200 /);
      expect(await refusals(api)).toEqual([]);
    },
    60_000,
  );
});

describe('when all places are taken,', { skip: process.platform !== 'linux' }, () => {
  const NEVER_MS = 600_000;

  async function start(connectionLimits: Partial<ConnectionLimits>) {
    const api = await startTestApi({ connectionLimits });
    return { ...api, port: Number(new URL(await api.app.listen({ port: 0, host: '127.0.0.1' })).port) };
  }

  async function probe(peer: Peer): Promise<void> {
    const before = peer.received().length;
    peer.socket.write(request('/healthz'));
    await waitFor('an answer', () => peer.received().slice(before).includes('"ok"'), { intervalMs: 5 });
  }

  /** A connection between two requests. */
  async function openUsed(api: { port: number }, from?: string): Promise<Peer> {
    const peer = await open(api, from);
    await probe(peer);
    return peer;
  }

  const [FEW, MANY, NEW] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

  test('a new connection takes that of who has waited longest for a request, at the address that has most', async () => {
    const api = await start({ most: 4, restMs: 0 });
    const few = await openUsed(api, FEW);
    const again = await openUsed(api, MANY);
    const longest = await openUsed(api, MANY);
    const silent = await open(api, MANY);
    await probe(again);
    expect(await ask(api, '/ip_policies', NEW)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await longest.untilEnded()).toBe('closed');
    await openUsed(api, NEW);
    // Whoever has sent nothing yet waits, too.
    await openUsed(api, NEW);
    expect(await silent.untilEnded()).toBe('closed');
    for (const peer of [few, again]) await probe(peer);
    const told = api.logs.filter((line) => line.includes('closing idle and slow connections to make room'));
    expect(told).toHaveLength(1);
    expect((await api.anonymous.get('/metrics')).text).toMatch(/^http_connections_closed_total [2-9]$/m);
  });

  test('those of the own address make room where they are too many', async () => {
    const api = await start({ most: 10, perAddress: 2, restMs: 0 });
    const many = [];
    for (let n = 0; n < 3; n++) many.push(await openUsed(api, MANY));
    const [longest, ...others] = [await openUsed(api, NEW), await openUsed(api, NEW)];
    expect(await ask(api, '/ip_policies', NEW)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await longest?.untilEnded()).toBe('closed');
    for (const peer of [...many.slice(1), ...others]) await probe(peer);
  });

  test('no connection is closed while the service works for it, and others get a 503 but for probes', async () => {
    const api = await start({ most: 1, restMs: 0, slowMs: 0 });
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies in access exclusive mode');
    const busy = await open(api);
    busy.socket.write(request('/ip_policies'));
    await untilWaiting(api, 1);
    const refused = (await ask(api, '/ip_policies')) ?? '';
    expect(refused).toMatch(/^HTTP\/1\.1 503 /);
    expect(refused).toMatch(/\r\nretry-after: 1\r\n/i);
    expect(refused).toMatch(/\r\nconnection: close\r\n/i);
    const body = errorBody.parse(JSON.parse(refused.slice(refused.indexOf('\r\n\r\n') + 4)));
    expect(body).toMatchObject({ error_code: 'UNAVAILABLE', msg: 'There are too many connections; try again.' });
    // Probes are answered as long as any place is left: the kubelet would kill the process.
    expect(await ask(api, '/healthz')).toMatch(/^HTTP\/1\.1 200 /);
    await held.rollback();
    await busy.until(/^HTTP\/1\.1 200 /);
  });

  /** Requests that cannot end before their client does something. */
  const SLOW = {
    'does not send the rest of its body': (peer: Peer) =>
      peer.socket.write(
        `POST /ip_policies HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${ADMIN_KEY}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
      ),
    // More than the kernel takes.
    'does not read its answers': (peer: Peer) => peer.socket.pause().write(request('/openapi.json').repeat(30)),
  };

  test.each(Object.entries(SLOW))('a new connection takes that of who %s, after a while', async (_, begin) => {
    const api = await start({ most: 3, restMs: NEVER_MS, slowMs: 0 });
    const few = await open(api, FEW);
    const slow = await open(api, MANY);
    let asked = 0;
    api.app.server.on('request', () => asked++);
    begin(slow);
    await waitFor('the request', () => asked > 0);
    await openUsed(api, MANY);
    // Until what it was sent is known not to be read.
    await waitFor('a place', async () => (await ask(api, '/ip_policies', NEW))?.startsWith('HTTP/1.1 200 '));
    slow.socket.resume();
    expect(await slow.untilEnded()).toBe('closed');
    await probe(few);
  });

  test.each(Object.entries(SLOW))('none is closed that %s, before that', async (_, begin) => {
    const api = await start({ most: 1, restMs: 0, slowMs: NEVER_MS });
    const slow = await open(api);
    let asked = 0;
    api.app.server.on('request', () => asked++);
    begin(slow);
    await waitFor('the request', () => asked > 0);
    expect(await ask(api, '/ip_policies')).toMatch(/^HTTP\/1\.1 503 /);
    expect(slow.end()).toBeUndefined();
    slow.socket.destroy();
  });

  test('none is closed that has just had an answer', async () => {
    const api = await start({ most: 1, restMs: NEVER_MS });
    const used = await openUsed(api);
    expect(await ask(api, '/ip_policies')).toMatch(/^HTTP\/1\.1 503 /);
    await probe(used);
  });

  test('one address does not get all the places of those who are told so', async () => {
    const api = await start({ most: 1, surplus: 3, surplusPerAddress: 2, restMs: NEVER_MS, surplusMs: NEVER_MS });
    await openUsed(api, FEW);
    const told = [await open(api, MANY), await open(api, MANY)];
    expect(await (await open(api, MANY)).untilEnded()).toBe('closed');
    expect(await ask(api, '/ip_policies', NEW)).toMatch(/^HTTP\/1\.1 503 /);
    for (const peer of told) peer.socket.write(request('/ip_policies'));
    for (const peer of told) await peer.until(/^HTTP\/1\.1 503 /);
    // Their places are free again.
    for (const peer of told) await peer.untilEnded();
    expect(await ask(api, '/ip_policies', MANY)).toMatch(/^HTTP\/1\.1 503 /);
  });
});

test.runIf(process.platform === 'linux')(
  'a process that has no descriptor left lives on, and recovers',
  async () => {
    const api = await startApiChild();
    const limit = (most: number) =>
      promisify(execFile)('prlimit', ['--pid', String(api.child.pid), `--nofile=${most}:`]);
    const known = await Promise.all(Array.from({ length: 30 }, () => open(api)));
    for (const peer of known) {
      peer.socket.write(request('/healthz'));
      await peer.until(/"ok"/);
    }
    await limit(10);
    // It cannot be accepted, and waits.
    const waiting = await open(api);
    waiting.socket.write(request('/healthz'));
    // Together they need more connections to the database than it has, and it can open none.
    for (const peer of known) peer.socket.write(request('/ip_policies'));
    const answers = await Promise.all(known.map((peer) => peer.until(/HTTP\/1\.1 (?!200 OK\r\n[^{]*\{"status).*/)));
    expect(new Set(answers.map((line) => line.trim()))).toEqual(
      new Set(['HTTP/1.1 200 OK', 'HTTP/1.1 503 Service Unavailable']),
    );
    await limit(1000);
    await waiting.until(/^HTTP\/1\.1 200 /);
    await waitFor('an answer', async () => (await ask(api, '/ip_policies'))?.startsWith('HTTP/1.1 200 '));
    expect(api.child.exit()).toBeUndefined();
  },
  60_000,
);
