/** Shows the first API key on standard error, not in the log, which may be archived. */
import { writeSync } from 'node:fs';
import type { FastifyBaseLogger } from 'fastify';
import { messageOf } from '../errors.ts';
import { CannotStart } from '../settings/cannot-start.ts';

const STDERR = 2;

/** @throws CannotStart when it cannot be written */
export function announceKey(key: string, log: Pick<FastifyBaseLogger, 'error'>): void {
  try {
    writeSync(
      STDERR,
      `\nNo admin had an API key that works. Here is a new one; it will not be shown again:\n\n  ${key}\n\nIf you lose it, start with another one in BOOTSTRAP_API_KEY.\n\n`,
    );
  } catch (error) {
    const message = `the first API key could not be written to standard error (${messageOf(error)}); set BOOTSTRAP_API_KEY instead`;
    // Standard error cannot take the reason either, so it goes to the log.
    log.error(message);
    throw new CannotStart(message, { cause: error });
  }
}
