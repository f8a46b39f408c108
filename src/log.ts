/** The logger of both programs: JSON lines, or readable ones on a terminal, with secrets blanked out. */
import { write, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Logger, pino } from 'pino';
import type { prettyFactory as PrettyFactory } from 'pino-pretty';
import { codeOf } from './errors.ts';

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
  const out = standardOutput();
  if (!isPretty) return pino(options, out);
  const readable = prettyFactory()({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss' });
  return pino(options, { write: (line) => out.write(readable(line)) });
}

/** Loaded only where it is used. */
function prettyFactory(): typeof PrettyFactory {
  const pretty: { prettyFactory: typeof PrettyFactory } = createRequire(import.meta.url)('pino-pretty');
  return pretty.prettyFactory;
}

const STDOUT = 1;
const NOTHING = Buffer.alloc(0);

/** How long a line may wait for others, in milliseconds: to write costs more than a line. */
const GATHERED_FOR_MS = 10;

/** How long to leave a reader alone that takes no more, in milliseconds. */
const BUSY_MS = 100;

/**
 * Never waits for the reader, except at exit. What cannot be written, since the disk is full or the terminal has gone, is
 * lost, and the program goes on. pino's own destination ends it then, or waits for ever at exit.
 */
function standardOutput(): { write(line: string): void } {
  let lines = '';
  /** Of what was taken from them before. */
  let rest = NOTHING;
  let isWriting = false;

  function flush(): void {
    rest = Buffer.from(lines);
    lines = '';
    writeRest();
  }

  function writeRest(): void {
    isWriting = true;
    write(STDOUT, rest, (error, written) => {
      isWriting = false;
      if (isBusy(error)) return void setTimeout(writeRest, BUSY_MS);
      rest = error ? NOTHING : rest.subarray(written);
      if (rest.length > 0) writeRest();
      else if (lines !== '') flush();
    });
  }

  process.on('exit', () => {
    // What is being written is no longer ours.
    for (let left = Buffer.concat([isWriting ? NOTHING : rest, Buffer.from(lines)]); left.length > 0; ) {
      try {
        left = left.subarray(writeSync(STDOUT, left));
      } catch (error) {
        if (!isBusy(error)) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS);
      }
    }
  });

  return {
    write(line) {
      if (lines === '' && rest.length === 0) setTimeout(flush, GATHERED_FOR_MS);
      lines += line;
    },
  };
}

const isBusy = (error: unknown) => ['EAGAIN', 'EBUSY'].includes(codeOf(error) ?? '');
