/** What a failed statement means: a broken rule of the schema, a database that is not there, or a bug. */
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

/** Chosen as a deadlock's victim, or not serialisable: the same transaction may well succeed now. */
const RETRY = new Set(['40001', '40P01']);

/** Beside class 08 (connection), 53 (resources), 57P (shutdown): conditions that pass by themselves. */
const TRANSIENT = new Set([
  ...RETRY,
  '25P03', // idle in transaction for too long
  '25006', // read-only, as during a failover
  '55P03', // lock not available
  '57014', // statement timeout
  '28000', // refused by pg_hba.conf or a password while the operator of the database changes them
  '28P01',
  '3D000', // the database does not exist (yet)
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
]);

/** The driver reports these without a code. */
const TRANSIENT_MESSAGE =
  /connection terminated|timeout exceeded when trying to connect|not queryable|cannot use a pool after/i;

export function mustRetry(error: unknown): boolean {
  const { code } = read(error);
  return code !== undefined && RETRY.has(code);
}

/** Whether the database is out of reach or overloaded, so that the same request may succeed later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isTransient);
  const { code, message } = read(error);
  if (code !== undefined) return TRANSIENT.has(code) || /^(08|53|57P)/.test(code);
  return message !== undefined && TRANSIENT_MESSAGE.test(message);
}

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

function read(error: unknown): z.output<typeof failure> {
  if (!(error instanceof Error)) return {};
  // Postgres omits what does not apply as undefined; anything else than text is not its error.
  return failure.catch({}).parse({ ...error, message: error.message });
}
