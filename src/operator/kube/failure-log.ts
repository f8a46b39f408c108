/**
 * Logs an activity that is repeated until it succeeds: what went wrong with its stack once, and one line for every
 * repetition.
 */
import type { Logger } from 'pino';

export class FailureLog {
  readonly #log: Logger;
  /** What has been logged since the last success. */
  readonly #known = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  warn(error: unknown, message: string, fields: Record<string, unknown> = {}): void {
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    if (this.#known.has(what)) {
      this.#log.warn({ ...fields, error: what }, message);
      return;
    }
    this.#known.add(what);
    this.#log.warn({ ...fields, err: error }, message);
  }

  /** The next failure is news again. */
  succeeded(): void {
    this.#known.clear();
  }
}
