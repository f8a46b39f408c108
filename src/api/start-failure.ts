/** Why the API, or a command on its database, could not start: in one line if a setting is to blame. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { codeOf, messageOf } from '../errors.ts';
import { backoff } from '../retry/backoff.ts';
import { CannotStart } from '../settings/cannot-start.ts';
import { withoutSecrets } from './store/connection-url.ts';
import { transientCondition } from './store/database-errors.ts';
import { UnsuitableDatabase } from './store/unsuitable-database.ts';

/** The error to throw when a database could not be opened or migrated: `error` itself, or one that names the setting. */
export function cannotUseDatabase(error: unknown, url: string): unknown {
  // Not the fault of the database.
  if (error instanceof CannotStart) return error;
  const reason = reasonOf(error);
  if (reason === undefined) return error;
  return new CannotStart(`DATABASE_URL: cannot use the database at ${withoutSecrets(url)}: ${reason}`, {
    cause: error,
  });
}

/**
 * Retries for up to `waitMs` while the database is unreachable or starting.
 * @param onWait called once, with the error of the first attempt
 * @throws what the last attempt threw
 */
export async function onceReachable<T>(
  attempt: () => Promise<T>,
  { waitMs, onWait }: { waitMs: number; onWait: (error: unknown) => void },
): Promise<T> {
  const deadline = Date.now() + waitMs;
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = backoff(failures, { firstMs: 200, longestMs: 2_000 });
      if (!isNotReady(error) || Date.now() + pauseMs > deadline) throw error;
      if (failures === 1) onWait(error);
      await delay(pauseMs);
    }
  }
}

/** Waiting does not help: the URL or the database has to be corrected. */
const NEEDS_CORRECTION = new Set(['invalid_authorization_specification', 'invalid_password', 'invalid_catalog_name']);

function isNotReady(error: unknown): boolean {
  const condition = transientCondition(error);
  return condition !== undefined && !NEEDS_CORRECTION.has(condition);
}

/** The error to throw when the embedded PostgreSQL could not be started. */
export function cannotKeepData(error: unknown, dataDir: string): unknown {
  if (!(error instanceof Error)) return error;
  return new CannotStart(`DATA_DIR: cannot run PostgreSQL in ${dataDir}: ${error.message}`, { cause: error });
}

/** Undefined for an error from neither the server nor the system: that is a bug of ours. */
function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // Every address of a host name was tried.
  if (error instanceof AggregateError) return messageOf(error);
  // An error of the server or of the system. The driver's own errors have no code.
  if (
    error instanceof UnsuitableDatabase ||
    error instanceof pg.DatabaseError ||
    codeOf(error) !== undefined ||
    isFromDriver(error)
  )
    return error.message;
  const reason = reasonOf(error.cause);
  return reason === undefined ? undefined : `${error.message}: ${reason}`;
}

const isFromDriver = ({ message }: Error) =>
  /connection terminated|timeout exceeded|timeout expired|an SSL connection|does not support SSL|SASL|password/i.test(
    message,
  );
