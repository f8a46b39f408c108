/**
 * Bounds the requests of one connection that are handled at once. Whoever sends hundreds without waiting for answers
 * (pipelining) would otherwise take the event loop and the database from those who wait.
 */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { RequestAborted } from './body.ts';

/** Answers come in the order of the requests, so that more at once gain the client little. */
const AT_ONCE = 8;

interface Line {
  running: number;
  /** Start the requests that wait, oldest first. */
  readonly waiting: Set<() => void>;
}

/** Applies to the routes that are added to this instance from now on. */
export function boundPipelining(app: FastifyInstance): void {
  const lines = new WeakMap<Socket, Line>();

  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const line = lines.get(socket) ?? { running: 0, waiting: new Set() };
    lines.set(socket, line);
    const start = () => {
      line.running++;
      // After its last byte: an answer that nobody reads keeps its place.
      reply.raw.once('close', () => {
        line.running--;
        for (const next of line.waiting.values().take(1)) {
          line.waiting.delete(next);
          next();
        }
      });
      done();
    };
    if (line.running < AT_ONCE) return start();
    line.waiting.add(start);
    reply.raw.once('close', () => {
      if (line.waiting.delete(start)) done(new RequestAborted());
    });
  });
}
