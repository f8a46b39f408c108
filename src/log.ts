/** The logger of both programs: JSON lines, or readable ones on a terminal, with secrets blanked out. */
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { type Logger, pino, type SerializedError, stdSerializers } from 'pino';
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

/**
 * An error with what it says of itself, but not with what hangs on it: a lost connection to the database, the connection
 * with its URL and password.
 */
function errorLine(error: unknown): unknown {
  return error instanceof Error ? wordsOf(stdSerializers.err(error)) : error;
}

function wordsOf({ aggregateErrors, ...members }: SerializedError): object {
  const words = Object.entries(members).filter(([, value]) => typeof value !== 'object');
  return { ...Object.fromEntries(words), ...(aggregateErrors && { aggregateErrors: aggregateErrors.map(wordsOf) }) };
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

const STDOUT = 1;

/** How long a line may wait for others, in milliseconds: to write costs more than a line. Also between attempts to write. */
const GATHERED_FOR_MS = 10;

/** As many bytes as a pipe takes whole or not at all (`PIPE_BUF` of Linux): no line is torn when the process is killed. */
const PIECE_BYTES = 4096;

/** How many characters may wait for a reader that takes no more. */
const MOST_WAITING = 2 * 1024 * 1024;

/** How long to wait at exit for a reader that takes no more, in milliseconds. */
const EXIT_MS = 1_500;

let lostInAll = 0;

/** Lines that this process has dropped because standard output did not take them. */
export const lostLogLines = (): number => lostInAll;

/**
 * Never waits for the reader of a pipe or socket, except briefly at exit. What standard output does not take (its reader
 * stalls, the disk is full, the terminal has gone) is kept up to a limit; beyond it the oldest lines are dropped, and a
 * line in their place says how many. Why not pino's own destination: docs/decisions/0022.
 */
function standardOutput(format = (line: string) => line): { write(line: string): void } {
  // Makes a pipe or socket non-blocking (`uv_pipe_open` of libuv). All writes below are of this thread, so that at exit it
  // is known what was written.
  void process.stdout;
  /** Oldest first. */
  const lines: string[] = [];
  /** Characters of the lines. */
  let waiting = 0;
  /** Not yet said in a line. */
  let lost = 0;
  /** Of lines that were taken from these, what is not written. */
  let piece: Buffer = Buffer.alloc(0);
  let refusal: unknown;
  let isFlushDue = false;

  function nextPiece(): Buffer {
    if (lost > 0) {
      const notice = format(lostLine(lost));
      lost = 0;
      return Buffer.from(notice);
    }
    let count = 0;
    for (let bytes = 0; count < lines.length; count++) {
      bytes += Buffer.byteLength(lines[count] ?? '');
      if (bytes > PIECE_BYTES && count > 0) break;
    }
    const text = lines.splice(0, count).join('');
    waiting -= text.length;
    return Buffer.from(text);
  }

  /** As far as standard output takes it. */
  function flush(): void {
    refusal = undefined;
    try {
      while (piece.length > 0 || lines.length > 0) {
        if (piece.length === 0) piece = nextPiece();
        piece = piece.subarray(writeSync(STDOUT, piece));
      }
    } catch (error) {
      refusal = error;
    }
  }

  /** At once: to take one after the other from the front of so many would cost more than to log them. */
  function dropOlderHalf(): void {
    let count = 0;
    for (; waiting > MOST_WAITING / 2 && count < lines.length - 1; count++) waiting -= lines[count]?.length ?? 0;
    lines.splice(0, count);
    lost += count;
    lostInAll += count;
  }

  function flushLater(): void {
    if (isFlushDue) return;
    isFlushDue = true;
    setTimeout(() => {
      isFlushDue = false;
      flush();
      if (refusal !== undefined) flushLater();
    }, GATHERED_FOR_MS).unref();
  }

  process.on('exit', () => {
    flush();
    for (const deadline = performance.now() + EXIT_MS; isBusy(refusal) && performance.now() < deadline; flush()) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, GATHERED_FOR_MS);
    }
  });

  return {
    write(line) {
      lines.push(format(line));
      waiting += lines.at(-1)?.length ?? 0;
      if (waiting > MOST_WAITING && refusal === undefined) flush();
      if (waiting > MOST_WAITING) dropOlderHalf();
      flushLater();
    },
  };
}

/** As pino writes a warning. */
function lostLine(lost: number): string {
  return `${JSON.stringify({ level: 40, time: Date.now(), pid: process.pid, hostname: hostname(), lost, msg: 'lines of this log were lost: standard output did not take them' })}\n`;
}

const isBusy = (error: unknown) => ['EAGAIN', 'EBUSY'].includes(codeOf(error) ?? '');
