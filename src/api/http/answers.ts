/**
 * What becomes of an answer between its making and its last byte: it counts as in flight, it has to be read in time, and
 * a client that goes away before leaves a line in the log.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { logAborted, PROBES } from './access-log.ts';
import type { BytesInFlight, Charge } from './bytes-in-flight.ts';
import { createDeadlines, type Deadline } from './deadlines.ts';
import type { Metrics } from './metrics.ts';
import { addressOf } from './rate-limit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request holds; null until it is known for whom, or as long as it is nothing. */
    charge: Charge | null;
  }
  interface FastifyReply {
    /** Running while the answer is being sent. */
    sending: Deadline<FastifyReply> | null;
    /** Sent to its last byte, or given up. */
    isOver: boolean;
  }
}

export interface AnswerOptions {
  bytes: BytesInFlight;
  /** In which an answer has to be read to its end, in milliseconds; 0 for no limit. */
  sendTimeoutMs: number;
  metrics: Pick<Metrics, 'aborted' | 'cut'>;
}

/** From this size on, an answer is sent as bytes: of a text, Node would hold both the text and its bytes until they are sent. */
const LARGE = 16 * 1024;

/** Applies to the routes that are added to this instance from now on. */
export function watchAnswers(app: FastifyInstance, { bytes, sendTimeoutMs, metrics }: AnswerOptions): void {
  app.decorateRequest('charge', null);
  app.decorateReply('sending', null);
  app.decorateReply('isOver', false);
  const deadlines = createDeadlines<FastifyReply>({
    limitMs: sendTimeoutMs === 0 ? Number.POSITIVE_INFINITY : sendTimeoutMs,
    onLate(reply) {
      // Of a pipelined request: the client could not read it yet. The deadline of the answer before it is running.
      if (reply.raw.socket === null) {
        reply.sending = deadlines.begin(reply);
        return;
      }
      const { request } = reply;
      request.log.info({ route: request.documentedPath }, 'the client did not read its answer in time');
      metrics.cut();
      // By a reset, for otherwise the kernel would go on holding what it has of the answer.
      request.raw.socket.resetAndDestroy();
    },
  });
  app.addHook('onClose', async () => deadlines.stop());

  function over(request: FastifyRequest, reply: FastifyReply): void {
    reply.isOver = true;
    // Whatever still waits for its turn, and finds that nobody waits for it: what is not held any more must not be in memory.
    request.body = undefined;
    request.charge?.end();
    if (reply.sending) deadlines.end(reply.sending);
  }

  app.addHook('onRequest', (request, reply, done) => {
    // Fastify's onResponse does not run for an answer that nobody waits for any more, its onRequestAbort only for some.
    reply.raw.once('close', () => {
      if (reply.isOver) return;
      over(request, reply);
      logAborted(request, reply);
      metrics.aborted(request);
    });
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    over(request, reply);
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    // What is answered to a client that has gone is held by nobody.
    if (reply.isOver) return done(null, payload);
    const answer = typeof payload === 'string' && payload.length > LARGE ? Buffer.from(payload) : payload;
    request.charge ??= bytes.ofAddress(addressOf(request));
    try {
      // Nothing has happened that a refusal would conceal; probes and metrics matter most when there is no room.
      const isRefusable = request.method === 'GET' && reply.statusCode === 200 && !PROBES.has(request.documentedPath);
      if (isRefusable) {
        // What was reserved for it; now its size is known.
        request.charge.release();
        request.charge.add(sizeOf(answer));
      } else {
        request.charge.hold(sizeOf(answer));
      }
    } catch (error) {
      for (const name of ['etag', 'content-encoding', 'cache-control']) reply.removeHeader(name);
      if (payload instanceof Readable) payload.destroy();
      return done(error instanceof Error ? error : new Error(String(error)));
    }
    reply.sending ??= deadlines.begin(reply);
    done(null, answer);
  });
}

/** What a stream counts for: what is read ahead of the client. */
const STREAM_BYTES = 1024 * 1024;

function sizeOf(payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  if (Buffer.isBuffer(payload)) return payload.length;
  return payload instanceof Readable ? STREAM_BYTES : 0;
}
