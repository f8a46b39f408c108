/** How the API stops: it finishes requests under way, and exits by the deadline whatever its clients do. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { ApiConfig } from '../../../src/api/settings.ts';
import { atEnd } from '../../end-of-file.ts';
import { ADMIN_KEY, emptyDatabase, heldTransaction } from '../harness.ts';
import { startedApi } from '../started-api.ts';
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

async function start(settings: Partial<ApiConfig>) {
  const databaseUrl = await emptyDatabase();
  const api = await startedApi({ databaseUrl, bootstrapApiKey: ADMIN_KEY, ...settings });
  atEnd(api.stop);
  const cuts = () =>
    api.logs
      .filter((line) => line.includes('closing connections still in use'))
      .map((line): object => JSON.parse(line));
  return { ...api, databaseUrl: settings.databaseUrl ?? databaseUrl, cuts };
}

const stopping = (api: ApiChild) =>
  waitFor('the stop to begin', async () => (await api.log()).some(({ msg }) => msg === 'stopping'), { intervalMs: 5 });

/** Opens a connection that has had a response and waits for its next request. */
async function answered(api: { port: number }): Promise<Peer> {
  const peer = await open(api);
  peer.socket.write(request('/healthz'));
  await peer.until(/"ok"/);
  return peer;
}

const statementsWait = ({ query }: Awaited<ReturnType<typeof heldTransaction>>) =>
  waitFor('a statement to wait for a lock', async () => {
    // Without this, the transaction keeps seeing its first snapshot of the statistics.
    await query('select pg_stat_clear_snapshot()');
    const waiting = await query(
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return waiting.rows.length > 0;
  });

describe('SIGTERM', () => {
  test('ends the process at once when no request is under way, whatever connections are open', async () => {
    const api = await startApiChild();
    const [silent, idle] = [await open(api), await answered(api)];
    api.child.kill('SIGTERM');
    expect(await api.ended()).toEqual(CLEAN);
    expect([await silent.untilEnded(), await idle.untilEnded()]).toEqual(['closed', 'closed']);
    expect(silent.received()).toBe('');
    const log = await api.log();
    expect(log.filter(({ msg }) => msg.includes('closing connections still in use'))).toEqual([]);
  });

  test('counts once if a parent forwards it as well, but ends the process at once half a second later', async () => {
    const api = await startApiChild({ SHUTDOWN_DELAY: '5m', SHUTDOWN_TIMEOUT: '10m' });
    for (const signal of ['SIGTERM', 'SIGTERM', 'SIGINT'] as const) api.child.kill(signal);
    await stopping(api);
    await waitFor('readiness to fail', async () => (await fetch(`${api.url}/readyz`)).status === 503);
    const insisting = setInterval(() => api.child.kill('SIGTERM'), 100);
    expect(await api.ended()).toEqual({ code: 1, signal: null });
    clearInterval(insisting);
  });
});

describe('SIGTERM during a start', () => {
  /** Starts the API on a database that accepts connections, but does not respond until `speak` is called. */
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

  test('that hangs ends the process at the deadline', async () => {
    const { api } = await startHanging({ SHUTDOWN_TIMEOUT: '1s' });
    api.child.kill('SIGTERM');
    expect(await api.ended()).toEqual({ code: 1, signal: null });
    const grave = (await api.log()).filter(({ level }) => level >= 50);
    expect(grave).toMatchObject([{ msg: expect.stringContaining('SHUTDOWN_TIMEOUT') }]);
  });

  test('takes the usual steps as soon as the process has started', async () => {
    const { api, speak } = await startHanging({});
    api.child.kill('SIGTERM');
    await stopping(api);
    speak();
    expect(await api.ended()).toEqual(CLEAN);
    const said = (await api.log()).map(({ msg }) => msg);
    const steps = ['stopping', 'the management API is ready', 'stopped'];
    expect(said.filter((msg) => steps.includes(msg))).toEqual(steps);
  });
});

describe('a stop', () => {
  test('ends at the deadline even if connections and statements do not end', async () => {
    const api = await start({ shutdownTimeoutMs: 2_000 });
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies');
    const [half, trickled, unfinished, hanging] = [await open(api), await open(api), await open(api), await open(api)];
    half.socket.write('GET /healthz HTTP/1.1\r\nHo');
    trickled.socket.write('GET /healthz HTTP/1.1\r\n');
    const timer = setInterval(() => trickled.socket.writable && trickled.socket.write('x: y\r\n'), 50);
    const headers = { 'content-type': 'application/json', 'content-length': '100' };
    unfinished.socket.write(request('/ip_policies', { method: 'POST', headers, body: '{' }));
    hanging.socket.write(request('/ip_policies'));
    await statementsWait(held);
    await answered(api);
    await api.stop();
    clearInterval(timer);
    for (const peer of [half, trickled, unfinished, hanging]) await peer.untilEnded();
    expect(api.cuts()).toMatchObject([{ level: 40, connections: 2 }]);
    await held.commit();
  });

  test('sends responses under way to their last byte, and closes their connections', async () => {
    const api = await start({});
    const list = '/backends/http_response';
    for (let n = 0; n < 30; n++) await api.ask(ADMIN_KEY, list, { body: 'x'.repeat(60 * 1024) });
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies');
    const [waiting, slow] = [await open(api), await open(api)];
    waiting.socket.write(request('/ip_policies'));
    await statementsWait(held);
    // More than the kernel buffers for a client that does not read.
    slow.socket.pause().write(request(list).repeat(8));
    await waitFor('responses to be held', async () => {
      const { text } = await api.ask('', '/metrics');
      return Number(/^tunnel_api_http_in_flight_bytes (\d+)$/m.exec(text)?.[1]) > 4 * 1024 ** 2;
    });
    const stopped = api.stop();
    await untilRefused(api);
    await held.commit();
    slow.socket.resume();
    for (const peer of [waiting, slow]) expect(await peer.untilEnded()).toBe('closed');
    expect(endings(waiting)).toEqual(['close']);
    // Requests that had not been started may go unanswered, but no response is cut off.
    const responses = slow.received().split('HTTP/1.1 200 ').slice(1);
    expect(responses.length).toBeGreaterThan(1);
    expect(responses.filter((text) => !text.endsWith('}'))).toEqual([]);
    await stopped;
    expect(api.cuts()).toEqual([]);
  });

  test('with a delay fails readiness, serves the rest, and closes each connection after its response', async () => {
    const api = await start({ shutdownDelayMs: 2_000, metricsPort: 0 });
    const [before, other] = [await answered(api), await answered(api)];
    const stopped = api.stop();
    // However often readiness is probed, its failure is logged once.
    for (let n = 0; n < 5; n++) expect((await api.ask('', '/readyz')).status).toBe(503);
    expect(api.logs.filter((line) => line.includes('"level":40'))).toHaveLength(2);
    before.socket.write(request('/ip_policies'));
    expect(await before.untilEnded()).toBe('closed');
    const answer = before.received().split('HTTP/1.1 ')[2];
    expect(answer).toMatch(/^200 OK\r\n/);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect((await fetch(z.string().parse(api.metricsUrl))).status).toBe(200);
    expect(other.end()).toBeUndefined();
    await stopped;
  });

  test('loses no request on a connection that is kept alive', async () => {
    const api = await start({ shutdownDelayMs: 1_000, rateLimit: 0, rateLimitPerOwner: 0 });
    let answers = 0;
    const failures: unknown[] = [];
    /** Sends requests on one connection for as long as the server keeps it open, as HTTP clients do. */
    const worker = async () => {
      for (;;) {
        const peer = await open(api).catch(() => undefined);
        if (!peer) return;
        for (let n = 1; ; n++) {
          peer.socket.write(request('/ip_policies', { method: 'POST', headers: { 'content-length': '0' } }));
          const complete = () => peer.received().split('"metadata":null}').length - 1 >= n;
          await waitFor('a response', () => complete() || peer.end() !== undefined, { intervalMs: 1 });
          if (!complete()) {
            // The first request may arrive as the listener closes, and is then not read.
            if (n > 1) failures.push({ request: n, end: peer.end() });
            break;
          }
          answers++;
          if (/connection: close/i.test(peer.received())) break;
        }
      }
    };
    const workers = Array.from({ length: 16 }, worker);
    await waitFor('responses', () => answers > 50);
    await api.stop();
    await Promise.all(workers);
    expect(failures).toEqual([]);
  });
});
