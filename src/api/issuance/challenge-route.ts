/** The path at which an authority looks for answers to challenges over HTTP (RFC 8555, section 8.3). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../errors/errors.ts';
import type { Executor } from '../store/database.ts';
import { answersOverHttp } from './challenges.ts';

const PATH = '/.well-known/acme-challenge/:token';

/** @param count counts a request of a stranger; it throws when there are too many */
export function addChallengeRoute(
  app: FastifyInstance,
  db: Executor,
  count: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): void {
  const config = { documentedPath: PATH.replace(':token', '{token}') };
  const answerTo = answersOverHttp(db);
  app.get<{ Params: { token: string } }>(PATH, { config }, async (request, reply) => {
    const answer = await answerTo(request.params.token);
    // Others from the same address, such as a proxy's, must not keep the authority from its answer.
    if (answer === undefined) await count(request, reply);
    if (answer === undefined)
      throw notFound('No certificate is being issued with this token.', { token: request.params.token });
    return reply.type('application/octet-stream').send(answer);
  });
}
