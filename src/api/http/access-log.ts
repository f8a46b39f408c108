/** One line per request, of chosen members only: a header or a body can hold a secret. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Details } from '../errors/errors.ts';
import { ABORTED } from './body.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What was wrong with it, of a request that was refused as invalid. */
    reasons: Details | null;
  }
}

/** Requested every few seconds by machines; logged at debug, and never refused for want of room. */
export const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

export function addAccessLog(app: FastifyInstance): void {
  app.decorateRequest('reasons', null);
  app.addHook('onResponse', (request, reply, done) => {
    const { documentedPath, reasons } = request;
    const level = PROBES.has(documentedPath) ? 'debug' : 'info';
    const why = reasons && { reasons: withoutValues(reasons) };
    request.log[level]({ ...about(request, reply), status: reply.statusCode, ...why }, 'request');
    done();
  });
}

/** The line of a request whose client went away before it had its answer. */
export function logAborted(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info({ ...about(request, reply), status: ABORTED, aborted: true }, 'request');
}

function about({ method, documentedPath: route }: FastifyRequest, { elapsedTime }: FastifyReply) {
  return { method, route, ms: Math.round(elapsedTime * 10) / 10 };
}

const MAX_REASONS = 10;
const MAX_LENGTH = 200;

/** Where a reason quotes what was sent, it is in double quotes. V8 quotes the text around a mistake in JSON like that, too. */
const QUOTED = /".*"/s;

/** The reasons as they may be logged: what was sent may be a secret. */
function withoutValues(reasons: Details): Details {
  const entries = Object.entries(reasons).slice(0, MAX_REASONS);
  return Object.fromEntries(
    entries.map(([pointer, reason]) => [
      pointer.slice(0, MAX_LENGTH),
      reason.replace(QUOTED, '"…"').slice(0, MAX_LENGTH),
    ]),
  );
}
