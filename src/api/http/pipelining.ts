/**
 * Bounds the requests of one connection that are handled at once, and those that wait. Whoever sends hundreds without
 * waiting for answers (pipelining) would otherwise take the event loop, the database and the memory from those who wait.
 */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { RequestAborted } from './body.ts';
import { refusalLog } from './refusal-log.ts';

export interface PipeliningLimits {
  /** Requests of a connection that are handled at once. Answers come in their order: more gain the client little. */
  atOnce: number;
  /** Requests of a connection that wait. */
  waiting: number;
  /** Of all connections together. */
  waitingInAll: number;
}

export const PIPELINING_LIMITS: PipeliningLimits = { atOnce: 8, waiting: 100, waitingInAll: 10_000 };

interface Line {
  running: number;
  /** Start the requests that wait, oldest first. */
  readonly waiting: Set<() => void>;
}

export interface Pipelines {
  /** Drops what else came with the request for which its connection was cut. To be added before all other hooks. */
  drop(): void;
  /** Applies to the routes that are added from now on. */
  bound(): void;
}

export function createPipelines(app: FastifyInstance, limits: PipeliningLimits): Pipelines {
  const lines = new WeakMap<Socket, Line>();
  const cut = new WeakSet<Socket>();
  let waitingInAll = 0;
  const refused = refusalLog(
    app.log,
    { waiting: limits.waiting, in_all: limits.waitingInAll },
    {
      first: 'cutting connections: too many requests wait for answers to those before them (pipelining)',
      later: 'cut connections with too many requests in line',
    },
  );

  function bound(): void {
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
            leave(next);
            next();
          }
        });
        done();
      };
      const leave = (one: () => void) => {
        if (!line.waiting.delete(one)) return false;
        waitingInAll--;
        return true;
      };
      if (line.running < limits.atOnce) return start();
      line.waiting.add(start);
      waitingInAll++;
      reply.raw.once('close', () => {
        if (leave(start)) done(new RequestAborted());
      });
      if (line.waiting.size > limits.waiting || waitingInAll > limits.waitingInAll) {
        refused();
        cut.add(socket);
        socket.destroy();
      }
    });
  }

  return {
    drop() {
      app.addHook('onRequest', (request, reply, done) => {
        if (cut.has(request.raw.socket)) reply.hijack();
        else done();
      });
    },
    bound,
  };
}
