/** Many connections at once, to a process that may open few files. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { connectionCaps, descriptorLimit } from '../../../src/api/http/descriptors.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { errorBody } from '../../../src/resources/definition/errors.ts';
import { type ApiChild, open, type Peer, request, startApiChild } from './api-child.ts';

/** Returns when the server has accepted or closed all of them. */
async function openIdle(api: ApiChild, count: number, from?: string): Promise<Peer[]> {
  return Promise.all(Array.from({ length: count }, () => open(api, from)));
}

/** The whole answer to one request on a connection of its own; undefined when it was closed without one. */
async function ask(api: ApiChild, path: string, from?: string): Promise<string | undefined> {
  const peer = await open(api, from);
  peer.socket.write(request(path, { headers: { connection: 'close' } }));
  await peer.untilEnded();
  return peer.received() === '' ? undefined : peer.received();
}

const refusals = async (api: ApiChild) =>
  (await api.log()).filter(({ level, msg }) => level === 40 && msg.includes('refusing connections'));

describe('400 idle connections to a process that may open 300 files', () => {
  test('leave it alive: it refuses those beyond the cap, says so once, and serves the others', async () => {
    const api = await startApiChild({ MAX_CONNECTIONS_PER_ADDRESS: '0' }, 300);
    const first = await open(api);
    const idle = await openIdle(api, 400);
    await waitFor('refused connections in the log', async () => (await refusals(api)).length > 0);

    // One that is open needs descriptors for the database, and gets them.
    first.socket.write(request('/ip_policies'));
    await first.until(/^HTTP\/1\.1 200 /);

    const refused = await waitFor('a 503', async () => {
      const answer = await ask(api, '/ip_policies');
      return answer?.startsWith('HTTP/1.1 503 ') && answer;
    });
    expect(refused).toMatch(/\r\nretry-after: 1\r\n/i);
    expect(refused).toMatch(/\r\nconnection: close\r\n/i);
    const body = errorBody.parse(JSON.parse(refused.slice(refused.indexOf('\r\n\r\n') + 4)));
    expect(body).toMatchObject({ error_code: 'UNAVAILABLE', status_code: 503, msg: /too many connections/ });
    // Probes are answered as long as any place is left: the kubelet would kill the process.
    await waitFor('liveness', async () => (await ask(api, '/healthz'))?.startsWith('HTTP/1.1 200 '));

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

test('the limit of descriptors is that of the process', async () => {
  expect(descriptorLimit()).toBeGreaterThan(0);
  const script = `import { descriptorLimit } from ${JSON.stringify(new URL('../../../src/api/http/descriptors.ts', import.meta.url).href)}; console.log(descriptorLimit())`;
  const shell = ['-c', 'ulimit -n 200; exec "$0" --input-type=module -e "$1"', process.execPath, script];
  expect((await promisify(execFile)('/bin/sh', shell)).stdout.trim()).toBe('200');
});

test.each([
  [10_000, 20, 1_000_000, { most: 10_000, surplus: 64 }],
  [10_000, 20, 20_000, { most: 10_000, surplus: 64 }],
  [10_000, 20, 300, { most: 189, surplus: 27 }],
  [100, 20, 300, { most: 100, surplus: 27 }],
  [10_000, 236, 300, { most: 0, surplus: 0 }],
  [10_000, 1000, 300, { most: 0, surplus: 0 }],
])(
  'of %i wanted connections, with a pool of %i and %i descriptors, are taken: %j',
  (wanted, pool, descriptors, caps) => {
    expect(connectionCaps(wanted, pool, descriptors)).toEqual(caps);
  },
);
