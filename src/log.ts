/** The logger of both programs: JSON lines, or readable ones on a terminal, with secrets blanked out. */
import { createRequire } from 'node:module';
import { type Logger, pino, type SerializedError, stdSerializers } from 'pino';
import type { prettyFactory as PrettyFactory } from 'pino-pretty';

export interface LogOptions {
  level: string;
  format: 'auto' | 'json' | 'pretty';
  /** Further members of every line, such as the ids of its trace. */
  more?: (() => object) | undefined;
}

/** Values under these names are not logged, at any depth and in any case. */
const SECRETS = [
  'authorization',
  'token',
  'apiKey',
  'api_key',
  'password',
  'secret',
  'client_secret',
  'signing_secret',
  'private_key_pem',
  'idempotency-key',
];
const NAMES = new Set(SECRETS.map((name) => name.toLowerCase()));
/** A quote inside a string has a backslash before it, so this matches only names. */
const NAMED = new RegExp(`"(?:${SECRETS.join('|')})":`, 'i');

/** Works on the finished line: almost none has such a name, and pino's `redact` takes longer than all other work. */
function withoutSecrets(line: string): string {
  if (!NAMED.test(line)) return line;
  const blank = (name: string, value: unknown) =>
    NAMES.has(name.toLowerCase()) && value !== null ? '[redacted]' : value;
  return `${JSON.stringify(JSON.parse(line), blank)}\n`;
}

/**
 * An error without the objects attached to it: the error of a lost database connection holds the connection, with its
 * URL and password.
 */
function errorLine(error: unknown): unknown {
  return error instanceof Error ? withoutObjects(stdSerializers.err(error)) : error;
}

function withoutObjects({ aggregateErrors, ...members }: SerializedError): object {
  const plain = Object.entries(members).filter(([, value]) => typeof value !== 'object');
  return {
    ...Object.fromEntries(plain),
    ...(aggregateErrors && { aggregateErrors: aggregateErrors.map(withoutObjects) }),
  };
}

export function createLogger({ level, format, more }: LogOptions): Logger {
  const isPretty = format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true);
  const serializers = { err: errorLine };
  const options = { level, serializers, hooks: { streamWrite: withoutSecrets }, ...(more && { mixin: more }) };
  if (!isPretty) return pino(options, standardOutput());
  return pino(options, standardOutput(prettyFactory()({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss' })));
}

/** Loaded only where it is used. */
function prettyFactory(): typeof PrettyFactory {
  const pretty: { prettyFactory: typeof PrettyFactory } = createRequire(import.meta.url)('pino-pretty');
  return pretty.prettyFactory;
}

/** Characters kept while standard output cannot be written, as on a full disk; lines beyond that are dropped. */
const MOST_WAITING = 1024 * 1024;

/** Lines are written at once, one by one. A log that cannot be written does not end the program. */
function standardOutput(format = (line: string) => line): { write(line: string): void } {
  const stdout = pino.destination({ dest: 1, sync: true, maxLength: MOST_WAITING });
  stdout.on('error', () => {});
  return { write: (line) => void stdout.write(format(line)) };
}
