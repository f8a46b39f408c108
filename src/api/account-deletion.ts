/** Deletes accounts of this installation with all that belongs to them. */
import { hostname } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { type DeletionRunner, startDeletionRunner } from './accounts/deletion-runner.ts';
import { failureLog } from './guard/refusal-log.ts';
import type { Api } from './http/operation.ts';

/** Processes on the same database share the work. */
export function startAccountDeletion(
  { db, eventBase }: Pick<Api, 'db' | 'eventBase'>,
  logger: FastifyBaseLogger | undefined,
): DeletionRunner {
  return startDeletionRunner({
    db,
    eventBase,
    holder: `${hostname()} ${process.pid}`,
    onError: logger ? failureLog(logger) : () => undefined,
    onDeleted: (account) => logger?.info({ account }, 'deleted an account with all that belonged to it'),
  });
}
