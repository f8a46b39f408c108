/** What a failed statement means: a broken rule of the schema, an unavailable database, or a bug. */
import { z } from 'zod';

const failure = z.object({
  code: z.string().optional(),
  message: z.string().optional(),
  constraint: z.string().optional(),
  table: z.string().optional(),
  detail: z.string().optional(),
});

const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';
const CHECK_VIOLATION = '23514';

/** A deadlock or a serialisation failure: the same transaction may well succeed when run again. */
const RETRY = new Set(['40001', '40P01']);

/**
 * Transient conditions, under the names of PostgreSQL (Appendix A of its manual). Other codes of classes 08, 53 and 57
 * go under the name of their class.
 */
const CONDITIONS: ReadonlyMap<string, string> = new Map([
  ['08', 'connection_exception'],
  ['25006', 'read_only_sql_transaction'], // the primary has become a standby
  ['25P03', 'idle_in_transaction_session_timeout'],
  ['28000', 'invalid_authorization_specification'], // while the operator of the database changes pg_hba.conf
  ['28P01', 'invalid_password'],
  ['3D000', 'invalid_catalog_name'], // the database does not exist (yet)
  ['40001', 'serialization_failure'],
  ['40P01', 'deadlock_detected'],
  ['53', 'insufficient_resources'],
  ['53100', 'disk_full'],
  ['53200', 'out_of_memory'],
  ['53300', 'too_many_connections'],
  ['53400', 'configuration_limit_exceeded'],
  ['55P03', 'lock_not_available'],
  ['57', 'operator_intervention'],
  ['57014', 'query_canceled'], // for example by the statement timeout
  ['57P01', 'admin_shutdown'],
  ['57P02', 'crash_shutdown'],
  ['57P03', 'cannot_connect_now'],
  ['57P04', 'database_dropped'],
  ['57P05', 'idle_session_timeout'],
]);

/** Errors of the connection to the database, by the codes of the operating system. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EMFILE', // no descriptor for a connection
  'ENFILE',
  'ENOENT', // a Unix socket that is not there
  'EADDRNOTAVAIL', // no port for a connection
  'ENOBUFS',
  'ENETDOWN',
  'EHOSTDOWN',
  'EAI_FAIL', // the name service is out of order
  'EPROTO', // the other side does not speak TLS
]);

/** The driver reports these without a code. A starting server, or a proxy in front of it, causes those about SSL. */
const TRANSIENT_MESSAGE =
  /connection terminated|not queryable|query read timeout|cannot use a pool after|^timeout expired$|error establishing an SSL connection|does not support SSL/i;

/** The pool's error when all connections stay in use for too long; one that cannot be opened has another error. */
const POOL_TIMEOUT = /timeout exceeded when trying to connect/i;

/** The condition of a request that got no connection because all were in use. */
export const POOL_EXHAUSTED = 'pool_exhausted';

export function isRetryable(error: unknown): boolean {
  const { code } = read(error);
  return code !== undefined && RETRY.has(code);
}

/**
 * Why the database is out of reach or overloaded, so that the same request may succeed later; undefined for any other
 * failure.
 */
export function transientCondition(error: unknown): string | undefined {
  if (error instanceof AggregateError) return error.errors.map(transientCondition).find((name) => name !== undefined);
  const { code, message } = read(error);
  if (code !== undefined) return CONDITIONS.get(code) ?? CONDITIONS.get(code.slice(0, 2)) ?? unreachable(code);
  if (message === undefined) return undefined;
  if (POOL_TIMEOUT.test(message)) return POOL_EXHAUSTED;
  return TRANSIENT_MESSAGE.test(message) ? 'connection_lost' : undefined;
}

const unreachable = (code: string) => (UNREACHABLE.has(code) ? code : undefined);

export type Violation =
  | { kind: 'unique'; constraint: string }
  | { kind: 'missing'; constraint: string }
  | { kind: 'referenced'; constraint: string; table: string };

/** The rule of the schema that a statement broke, if that is why it failed. */
export function violation(error: unknown): Violation | undefined {
  const { code, constraint = '', table = '', detail = '' } = read(error);
  if (code === UNIQUE_VIOLATION) return { kind: 'unique', constraint };
  if (code !== FOREIGN_KEY_VIOLATION) return undefined;
  // One code for both ends of a reference; only the text tells them apart.
  return /is still referenced/.test(detail)
    ? { kind: 'referenced', constraint, table }
    : { kind: 'missing', constraint };
}

/** The quota that a statement exceeded, if that is why it failed. */
export function exceededQuota(error: unknown): { family: string; limit: number } | undefined {
  const { code, constraint, table: family = '', detail } = read(error);
  return code === CHECK_VIOLATION && constraint === 'account_quota' ? { family, limit: Number(detail) } : undefined;
}

function read(error: unknown): z.output<typeof failure> {
  if (!(error instanceof Error)) return {};
  // Postgres leaves out what does not apply. An error with anything but text is not from Postgres.
  return failure.catch({}).parse({ ...error, message: error.message });
}
