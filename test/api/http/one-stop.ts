/** A server whose stop waits for the test: each of its waits ends when the test says so. */
import { createServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import timers from 'node:timers/promises';
import Fastify, { type FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { LINGER, lingerOnClose } from '../../../src/api/http/lingering.ts';
import { inLine, PIPELINING_LIMITS } from '../../../src/api/http/pipelining.ts';
import { addShutdown, SHUTDOWN, type ShutdownTimes } from '../../../src/api/http/shutdown.ts';
import { atEnd } from '../harness.ts';
import { open, type Peer } from './api-child.ts';

const DEADLINE_MS = 600_000;
export const QUIET_MS = 1000;
export const DELAY_MS = 1;
/** The waits of a stop that have begun. */
export const pauses: { ms: number; end(): void }[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  pauses.length = 0;
  const { setTimeout: delay } = timers;
  vi.spyOn(timers, 'setTimeout').mockImplementation((ms = 0, value, options) => {
    const { signal } = options ?? {};
    if (!signal) return delay(ms, value, options);
    const { promise, resolve, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(new Error('aborted')));
    if (signal.aborted) reject(new Error('aborted'));
    pauses.push({ ms, end: () => resolve(value as never) });
    return promise;
  });
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

export const pause = (n: number) => waitFor(`wait ${n}`, () => pauses[n], { intervalMs: 1 });

export async function startServer(times: Partial<ShutdownTimes> = {}) {
  const timeouts = vi.spyOn(globalThis, 'setTimeout');
  const lines: string[] = [];
  const loggerInstance: FastifyBaseLogger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const app = Fastify({
    loggerInstance,
    forceCloseConnections: false,
    return503OnClosing: false,
    pluginTimeout: 0,
    serverFactory: (handle) => createServer(inLine(handle, PIPELINING_LIMITS, { warn: () => undefined })),
  });
  // Nothing but the stop ends a connection.
  app.server.keepAliveTimeout = 3_600_000;
  lingerOnClose(app.server, LINGER);
  addShutdown(app, { ...SHUTDOWN, quietMs: QUIET_MS, deadlineMs: DEADLINE_MS, ...times });
  const handled: string[] = [];
  const gates: PromiseWithResolvers<string>[] = [];
  app.addHook('onRequest', async ({ url }, reply) => {
    if (url === '/early') await reply.send('early');
  });
  app.get('/small', async () => {
    handled.push('/small');
    return 'small';
  });
  app.post('/small', async () => 'small');
  app.get('/held', () => {
    handled.push('/held');
    const gate = Promise.withResolvers<string>();
    gates.push(gate);
    return gate.promise;
  });
  const begun = new Readable({ read() {} });
  app.get('/begun', async () => {
    handled.push('/begun');
    begun.push('begun');
    return begun;
  });
  app.post('/early', async () => 'not so early');
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket) => sockets.add(socket));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const port = Number(new URL(app.listeningOrigin).port);
  /** As the deadline does. */
  const cut = () => {
    for (const [end, ms] of timeouts.mock.calls) if (ms === DEADLINE_MS) end();
  };
  atEnd(async () => {
    const closed = app.close();
    for (const socket of sockets) socket.destroy();
    for (const each of pauses) each.end();
    cut();
    await closed;
  });
  return {
    app,
    begun,
    handled,
    cut,
    release: () => {
      for (const gate of gates.splice(0)) gate.resolve('held');
    },
    lines,
    port,
    /** Returns when the server knows of it. */
    connect: async (halfOpen = false): Promise<Peer> => {
      const before = sockets.size;
      const peer = await open({ port, halfOpen });
      await waitFor('the connection', () => sockets.size > before, { intervalMs: 1 });
      return peer;
    },
    /** What the server has read of the connection that came last. */
    read: () => [...sockets].at(-1)?.bytesRead ?? 0,
    isOpen: () => [...sockets].at(-1)?.writableEnded === false,
  };
}

/** What each answer that has come says about the connection. */
export const endings = (peer: Peer) =>
  peer
    .received()
    .split('HTTP/1.1 200 ')
    .slice(1)
    .map((answer) => /\r\nconnection: (\S+)\r\n/i.exec(answer)?.[1] ?? 'nothing');

export const answered = (peer: Peer, count: number) =>
  waitFor('the answers', () => peer.received().split('small').length > count, { intervalMs: 1 });
