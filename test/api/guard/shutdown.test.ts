/** How the process ends: with manners towards those who have some, and in time whatever the others do. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../../dev/processes/wait.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { atEnd } from '../../end-of-file.ts';
import { ADMIN_KEY, emptyDatabase, heldTransaction } from '../harness.ts';
import {
  type ApiChild,
  endings,
  launchApiChild,
  open,
  type Peer,
  request,
  startApiChild,
  untilRefused,
} from './api-child.ts';

const CLEAN = { code: 0, signal: null };

const stopping = (api: ApiChild) =>
  waitFor('the stop to begin', async () => (await api.log()).some(({ msg }) => msg === 'stopping'), { intervalMs: 5 });

const cuts = async (api: ApiChild) =>
  (await api.log()).filter(({ msg }) => msg.includes('closing connections still in use'));

/** Keeps a connection from being looked after: one with an answer waits for the next request. */
async function answered(api: ApiChild): Promise<Peer> {
  const peer = await open(api);
  peer.socket.write(request('/healthz'));
  await peer.until(/"ok"/);
  return peer;
}

const statementsWait = ({ query }: Awaited<ReturnType<typeof heldTransaction>>, count = 1) =>
  waitFor('statements', async () => {
    // Else a transaction sees what it saw at first.
    await query('select pg_stat_clear_snapshot()');
    const waiting = await query(
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return waiting.rows.length >= count;
  });

describe('SIGTERM ends the process', () => {
  test('at once when nothing is under way, whatever is open', async () => {
    const api = await startApiChild();
    const silent = await open(api);
    const idle = await answered(api);
    api.child.kill('SIGTERM');
    expect(await api.ended()).toEqual(CLEAN);
    expect(await silent.untilEnded()).toBe('closed');
    expect(await idle.untilEnded()).toBe('closed');
    expect(silent.received()).toBe('');
    expect(await cuts(api)).toEqual([]);
  });

  test('at the deadline, when connections never come to an end', async () => {
    const api = await startApiChild({ SHUTDOWN_TIMEOUT: '4s' });
    const half = await open(api);
    half.socket.write('GET /healthz HTTP/1.1\r\nHo');
    const trickled = await open(api);
    trickled.socket.write('GET /healthz HTTP/1.1\r\n');
    const timer = setInterval(() => trickled.socket.writable && trickled.socket.write('x: y\r\n'), 50);
    const unfinished = await open(api);
    const headers = { 'content-type': 'application/json', 'content-length': '100' };
    unfinished.socket.write(request('/ip_policies', { method: 'POST', headers, body: '{' }));
    await answered(api);
    api.child.kill('SIGTERM');
    expect(await api.ended()).toEqual(CLEAN);
    clearInterval(timer);
    for (const peer of [half, trickled, unfinished]) await peer.untilEnded();
    expect(await cuts(api)).toMatchObject([{ level: 40, connections: 1 }]);
  });

  test('at the deadline, when the database hangs', async () => {
    const api = await startApiChild({ SHUTDOWN_TIMEOUT: '3s' });
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies');
    const hanging = await open(api);
    hanging.socket.write(request('/ip_policies'));
    await statementsWait(held);
    api.child.kill('SIGTERM');
    expect(await api.ended()).toEqual(CLEAN);
    await held.commit();
  });

  test('in the same steps, when the housekeeping hangs', async () => {
    const databaseUrl = await emptyDatabase();
    const held = await heldTransaction(databaseUrl);
    await held.query('lock table idempotency_keys');
    const api = await startApiChild({ DATABASE_URL: databaseUrl, SHUTDOWN_DELAY: '1s', SHUTDOWN_TIMEOUT: '4s' });
    await statementsWait(held);
    const peer = await answered(api);
    api.child.kill('SIGTERM');
    await stopping(api);
    peer.socket.write(request('/readyz'));
    await peer.until(/HTTP\/1.1 503 /);
    expect(await peer.untilEnded()).toBe('closed');
    expect(await api.ended()).toEqual(CLEAN);
    await held.commit();
  });

  test('at the second signal', async () => {
    const api = await startApiChild({ SHUTDOWN_DELAY: '5m', SHUTDOWN_TIMEOUT: '10m' });
    api.child.kill('SIGTERM');
    await stopping(api);
    const insisting = setInterval(() => api.child.kill('SIGTERM'), 100);
    expect(await api.ended()).toEqual({ code: 1, signal: null });
    clearInterval(insisting);
  });

  test('in the same steps, when the signal comes twice, as from a parent that forwards it', async () => {
    const api = await startApiChild({ SHUTDOWN_DELAY: '1s' });
    for (const signal of ['SIGTERM', 'SIGTERM', 'SIGINT'] as const) api.child.kill(signal);
    expect(await api.ended()).toEqual(CLEAN);
  });
});

describe('SIGTERM during a start', () => {
  /** Starts it on a database that takes its first connection, and says nothing until it is told to. */
  async function startHanging(env: Record<string, string>) {
    const real = new URL(await emptyDatabase());
    const speaks = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const database = createServer(async (socket) => {
      socket.on('error', () => undefined);
      asked.resolve();
      await speaks.promise;
      socket
        .pipe(connect(Number(real.port), real.hostname))
        .on('error', () => undefined)
        .pipe(socket);
    }).listen(0, '127.0.0.1');
    atEnd(async () => void database.close());
    await once(database, 'listening');
    const through = new URL(real);
    through.port = String(z.object({ port: z.number() }).parse(database.address()).port);
    const api = await launchApiChild({ DATABASE_URL: through.href, ...env });
    await asked.promise;
    return { api, speak: () => speaks.resolve() };
  }

  test('that hangs ends it at the deadline', async () => {
    const { api } = await startHanging({ SHUTDOWN_TIMEOUT: '1s' });
    api.child.kill('SIGTERM');
    expect(await api.ended()).toEqual({ code: 1, signal: null });
    const grave = (await api.log()).filter(({ level }) => level >= 50);
    expect(grave).toMatchObject([{ msg: expect.stringContaining('SHUTDOWN_TIMEOUT') }]);
  });

  test('ends it in the same steps as soon as it has started', async () => {
    const { api, speak } = await startHanging({});
    api.child.kill('SIGTERM');
    await stopping(api);
    speak();
    expect(await api.ended()).toEqual(CLEAN);
    const said = (await api.log()).map(({ msg }) => msg);
    expect(said.filter((msg) => /^(stopping|the management API is ready|stopped)$/.test(msg))).toEqual([
      'stopping',
      'the management API is ready',
      'stopped',
    ]);
  });
});

describe('from the signal on', () => {
  test('responses under way end their connection, and are sent to their last byte', async () => {
    const api = await startApiChild({ SHUTDOWN_TIMEOUT: '20s' });
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ body: 'x'.repeat(60 * 1024) });
    const list = '/backends/http_response';
    for (let n = 0; n < 30; n++) await fetch(`${api.url}${list}`, { method: 'POST', headers, body });
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies');
    const [waiting, slow] = [await open(api), await open(api)];
    waiting.socket.write(request('/ip_policies'));
    await statementsWait(held);
    // More than the kernel takes of what is not read.
    slow.socket.pause().write(request(list).repeat(8));
    await waitFor('responses to be held', async () => {
      const metrics = await (await fetch(`${api.url}/metrics`)).text();
      return Number(/^http_in_flight_bytes (\d+)$/m.exec(metrics)?.[1]) > 4 * 1024 ** 2;
    });
    api.child.kill('SIGTERM');
    await untilRefused(api);
    await held.commit();
    slow.socket.resume();
    for (const peer of [waiting, slow]) expect(await peer.untilEnded()).toBe('closed');
    expect(endings(waiting)).toEqual(['close']);
    expect(slow.received().match(/HTTP\/1\.1 200 /g)).toHaveLength(8);
    expect(slow.received().endsWith('}')).toBe(true);
    expect(await api.ended()).toEqual(CLEAN);
    expect(await cuts(api)).toEqual([]);
  });

  test('readiness fails, everything else is served, and each answer ends its connection', async () => {
    const metricsPort = await freePort();
    const api = await startApiChild({
      SHUTDOWN_DELAY: '5m',
      SHUTDOWN_TIMEOUT: '10m',
      METRICS_PORT: String(metricsPort),
    });
    const [before, other] = [await answered(api), await answered(api)];
    api.child.kill('SIGTERM');
    await waitFor('readiness to fail', async () => (await fetch(`${api.url}/readyz`)).status === 503);
    // However often it is asked, the log says so once.
    for (let n = 0; n < 5; n++) expect((await fetch(`${api.url}/readyz`)).status).toBe(503);
    const warnings = async () => (await api.log()).filter(({ level }) => level >= 40).length;
    await expect.poll(warnings).toBe(1);
    before.socket.write(request('/ip_policies'));
    expect(await before.untilEnded()).toBe('closed');
    const answer = before.received().split('HTTP/1.1 ')[2];
    expect(answer).toMatch(/^200 OK\r\n/);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect((await fetch(`${api.url}/healthz`)).headers.get('connection')).toBe('close');
    expect((await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).status).toBe(200);
    expect(other.end()).toBeUndefined();
    api.child.kill('SIGKILL');
    await api.ended();
  });

  test('no request is lost on a connection that is kept', async () => {
    const api = await startApiChild({ SHUTDOWN_DELAY: '1s', RATE_LIMIT: '0', RATE_LIMIT_PER_OWNER: '0' });
    let answers = 0;
    const failures: unknown[] = [];
    /** On one connection as long as the server keeps it, as a client with keep-alive does. */
    const worker = async () => {
      for (;;) {
        const peer = await open(api).catch(() => undefined);
        if (!peer) return;
        for (let n = 1; ; n++) {
          peer.socket.write(request('/ip_policies', { method: 'POST', headers: { 'content-length': '0' } }));
          const complete = () => peer.received().split('"metadata":null}').length - 1 >= n;
          await waitFor('an answer', () => complete() || peer.end() !== undefined, { intervalMs: 1 });
          if (!complete()) {
            // The first request may come with the end of the listener, and is not read then.
            if (n > 1) failures.push({ request: n, end: peer.end() });
            break;
          }
          answers++;
          if (/connection: close/i.test(peer.received())) break;
        }
      }
    };
    const workers = Array.from({ length: 16 }, worker);
    await waitFor('answers', () => answers > 50);
    api.child.kill('SIGTERM');
    await Promise.all(workers);
    expect(failures).toEqual([]);
    expect(await api.ended()).toEqual(CLEAN);
  });
});
