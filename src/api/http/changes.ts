/** Tells of requests that have succeeded and may have changed something. */
import type { FastifyInstance } from 'fastify';

/** Calls `onChange` after their responses. */
export function tellOfChanges(scope: FastifyInstance, onChange: () => void): void {
  scope.addHook('onResponse', ({ method }, { statusCode }, done) => {
    if (method !== 'GET' && statusCode < 300) onChange();
    done();
  });
}
