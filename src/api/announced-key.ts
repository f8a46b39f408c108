/** Shows the first API key to whoever starts the API. */
import { fstatSync, statSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { codeOf, messageOf } from '../errors.ts';
import { CannotStart } from '../settings/cannot-start.ts';

const STDERR = 2;

/** How long a reader may take to make room, and how often we look. Meanwhile this process does nothing else. */
const PATIENCE_MS = 5_000;
const PAUSE_MS = 20;

/**
 * On standard error, not in the log: shown once, and never in a log archive.
 * @throws CannotStart when nobody would see it, or not all of it
 */
export function announceKey(key: string, log: Pick<FastifyBaseLogger, 'error'>): void {
  const fail = (why: string, cause?: unknown) => {
    // The reason for the end goes to standard error, too.
    log.error(why);
    throw new CannotStart(why, { cause });
  };
  if (isDiscarded(STDERR))
    fail(
      'the first API key would be shown on standard error, which is closed or /dev/null: open it, or set BOOTSTRAP_API_KEY',
    );
  try {
    writeWhole(
      STDERR,
      `\nThis database had no API key. Here is the first one, of an admin; it will not be shown again:\n\n  ${key}\n\n`,
    );
  } catch (error) {
    fail(
      `the first API key could not be printed to standard error: ${messageOf(error)}; mend that, or set BOOTSTRAP_API_KEY`,
      error,
    );
  }
}

/** Whether what is written there is lost. Node opens /dev/null in place of what was closed when it started. */
function isDiscarded(descriptor: number): boolean {
  const file = fstatSync(descriptor);
  return file.isCharacterDevice() && file.rdev === statSync(devNull).rdev;
}

/** The system may take a part: what a pipe or a disk has room for. The next attempt says why it took no more. */
function writeWhole(descriptor: number, text: string): void {
  const deadline = performance.now() + PATIENCE_MS;
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSome(descriptor, rest, deadline));
}

/** Returns how many bytes it took: none of a full pipe that makes nobody wait, as whoever starts us may have set it. */
function writeSome(descriptor: number, bytes: Buffer, deadline: number): number {
  try {
    return writeSync(descriptor, bytes);
  } catch (error) {
    if (codeOf(error) !== 'EAGAIN' || performance.now() > deadline) throw error;
    pause(PAUSE_MS);
    return 0;
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, ms);
}
