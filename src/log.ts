/** The logger of both programs: JSON lines, or readable ones on a terminal, with secrets blanked out. */
import { type Logger, pino } from 'pino';

export interface LogOptions {
  level: string;
  format: 'auto' | 'json' | 'pretty';
}

/** Wherever one of these names occurs, up to three levels deep, its value is not logged. */
const SECRETS = [
  'authorization',
  'token',
  'apiKey',
  'api_key',
  'password',
  'secret',
  'client_secret',
  'idempotency-key',
];
const PATHS = SECRETS.flatMap((name) =>
  ['', '*.', '*.*.'].map((prefix) => (name.includes('-') ? `${prefix.slice(0, -1)}["${name}"]` : `${prefix}${name}`)),
);

export function createLogger({ level, format }: LogOptions): Logger {
  const isPretty = format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true);
  const options = { level, redact: { paths: PATHS, censor: '[redacted]' } };
  if (!isPretty) return pino(options);
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', translateTime: 'HH:MM:ss' } },
  });
}
