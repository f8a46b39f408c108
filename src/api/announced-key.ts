/** Shows the first API key to whoever starts the API. */
import { fstatSync, statSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { CannotStart } from '../settings/cannot-start.ts';

const STDERR = 2;

/**
 * On standard error, not in the log: shown once, and never in a log archive.
 * @throws CannotStart when nobody would see it
 */
export function announceKey(key: string, log: FastifyBaseLogger): void {
  if (isDiscarded(STDERR)) {
    const why =
      'the first API key would be shown on standard error, which is closed or /dev/null: open it, or set BOOTSTRAP_API_KEY';
    // The reason for the end goes to standard error, too.
    log.error(why);
    throw new CannotStart(why);
  }
  writeSync(
    STDERR,
    `\nThis database had no API key. Here is the first one, of an admin; it will not be shown again:\n\n  ${key}\n\n`,
  );
}

/** Whether what is written there is lost. Node opens /dev/null in place of what was closed when it started. */
function isDiscarded(descriptor: number): boolean {
  const file = fstatSync(descriptor);
  return file.isCharacterDevice() && file.rdev === statSync(devNull).rdev;
}
