/** The logger of both programs: JSON lines, or readable ones on a terminal, with secrets blanked out. */
import { type DestinationStream, type Logger, pino } from 'pino';

export interface LogOptions {
  level: string;
  format: 'auto' | 'json' | 'pretty';
  /** What every line says besides, such as the trace that it belongs to. */
  more?: (() => object) | undefined;
}

/** Wherever one of these names occurs, at any depth and in any case, its value is not logged. */
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
/** A quote inside of a text has a backslash before it, so this finds names only. */
const NAMED = new RegExp(`"(?:${SECRETS.join('|')})":`, 'i');

/** Works on the finished line: nearly none has such a name, and pino's `redact` takes longer than the rest of a line. */
function withoutSecrets(line: string): string {
  if (!NAMED.test(line)) return line;
  const blank = (name: string, value: unknown) =>
    NAMES.has(name.toLowerCase()) && value !== null ? '[redacted]' : value;
  return `${JSON.stringify(JSON.parse(line), blank)}\n`;
}

export function createLogger({ level, format, more }: LogOptions): Logger {
  const isPretty = format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true);
  const options = { level, hooks: { streamWrite: withoutSecrets }, ...(more && { mixin: more }) };
  if (!isPretty) return pino(options, stdout());
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', translateTime: 'HH:MM:ss' } },
  });
}

/** How long a line may wait for others, in milliseconds: to write costs more than a line. */
const GATHERED_FOR_MS = 10;

/** Never waits for the reader, except at exit. */
function stdout(): DestinationStream {
  const out = pino.destination({ dest: 1, sync: false });
  let lines = '';
  const flush = () => {
    out.write(lines);
    lines = '';
  };
  process.on('exit', () => {
    if (lines === '') return;
    flush();
    out.flushSync();
  });
  return {
    write(line) {
      if (lines === '') setTimeout(flush, GATHERED_FOR_MS);
      lines += line;
    },
  };
}
