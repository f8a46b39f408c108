/**
 * Logs the failures of an activity that is retried until it succeeds: the first with its stack, repetitions in one line.
 */
import type { Logger } from 'pino';

export class FailureLog {
  readonly #log: Logger;
  /** Failures logged since the last success. */
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
