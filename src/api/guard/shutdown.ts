/**
 * Stops the server: readiness fails, then no new connections are accepted, then responses under way are sent to their
 * last byte. Why not Fastify's own `close()`: docs/decisions/0009.
 */
import { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.ts';

export interface ShutdownTimes {
  /** Milliseconds during which only readiness fails, so that load balancers and clients go elsewhere. */
  delayMs: number;
  /** Milliseconds after which connections are cut, counted from the beginning of the stop. */
  deadlineMs: number;
  /** A connection that was used this recently is kept: its client may be about to send the next request. */
  quietMs: number;
}

export const SHUTDOWN: ShutdownTimes = { delayMs: 0, deadlineMs: 23_000, quietMs: 1_000 };

export interface Shutdown {
  hasBegun(): boolean;
}

const SWEEP_EVERY_MS = 20;

/** Makes `app.close()` a graceful stop. */
export function addShutdown(app: FastifyInstance, times: ShutdownTimes, connections: Connections): Shutdown {
  const { delayMs, deadlineMs, quietMs } = times;
  const { server, log } = app;
  const { open } = connections;
  let hasBegun = false;

  // Fastify sends this header only in responses to requests that arrive after the stop has begun.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (hasBegun) reply.header('connection', 'close');
    done(null, payload);
  });

  function closeIdle(): void {
    const now = performance.now();
    for (const [socket, { requests, usedAt }] of open) {
      if (requests.size === 0 && now - usedAt >= quietMs) socket.destroySoon();
    }
  }

  app.addHook('preClose', async () => {
    hasBegun = true;
    if (!server.listening) return;
    const end = performance.now() + deadlineMs;
    await delay(delayMs);
    // Closes only the listener: http.Server's own close() would also cut unfinished responses.
    Server.prototype.close.call(server);
    for (closeIdle(); open.size > 0 && performance.now() < end; closeIdle()) await delay(SWEEP_EVERY_MS);
    if (open.size > 0)
      log.warn({ connections: open.size }, 'the shutdown timeout is over; closing connections still in use');
    for (const socket of open.keys()) socket.destroy();
  });

  return { hasBegun: () => hasBegun };
}
