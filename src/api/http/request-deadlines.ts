/** A deadline for every request, even if its handler never finishes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { unavailable } from '../errors/errors.ts';
import { createDeadlines, type Deadline } from '../store/deadlines.ts';
import { answerError } from './error-handler.ts';

interface Running {
  request: FastifyRequest;
  reply: FastifyReply;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes of the management API, where requests have a deadline. */
    deadline: Deadline<Running> | null;
  }
}

export interface RequestDeadlines {
  /** Starts the request's deadline; after it the response is 503, whatever the handler does. */
  begin(request: FastifyRequest, reply: FastifyReply): void;
  /** The request is answered, or about to be. */
  end(request: FastifyRequest): void;
}

/** @param limitMs 0 for no limit */
export function enforceDeadlines(app: FastifyInstance, limitMs: number): RequestDeadlines {
  app.decorateRequest('deadline', null);
  if (limitMs === 0) return { begin: () => undefined, end: () => undefined };
  const deadlines = createDeadlines<Running>({
    limitMs,
    // Requests that were refused or aborted before their handler never call `end`.
    isOver: ({ reply }) => reply.sent || reply.raw.destroyed,
    onLate: ({ request, reply }) =>
      answerError(unavailable('The request took too long; whether it took effect is unknown.'), request, reply),
  });
  app.addHook('onClose', async () => deadlines.stop());
  return {
    begin(request, reply) {
      request.deadline = deadlines.begin({ request, reply });
    },
    end({ deadline }) {
      if (deadline) deadlines.end(deadline);
    },
  };
}
