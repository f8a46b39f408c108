/**
 * One budget for all calls of the management API: at most so many under way, and when the API says Retry-After,
 * nobody calls before that.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** A longer Retry-After is not obeyed to the end: a wrong header must not stop the operator for hours. */
export const LONGEST_PAUSE_MS = 5 * 60_000;

export class ApiBudget {
  #free: number;
  #pausedUntil = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #closed = new AbortController();

  /** @param most calls under way at a time */
  constructor(most: number) {
    this.#free = most;
  }

  /** Runs `attempt` when its turn has come. */
  readonly admit = async <T>(attempt: () => Promise<T>): Promise<T> => {
    await this.#acquire();
    try {
      await this.#waitForPause();
      return await attempt();
    } catch (error) {
      const retryAfterMs = readRetryAfter(error);
      if (retryAfterMs !== undefined) this.pause(retryAfterMs);
      throw error;
    } finally {
      this.#release();
    }
  };

  /** Nothing is admitted for the next `ms`. */
  pause(ms: number, now = Date.now()): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(ms, LONGEST_PAUSE_MS));
  }

  /** Nobody waits for the end of a pause any more: calls that do are refused. */
  close(): void {
    this.#closed.abort();
  }

  async #waitForPause(): Promise<void> {
    for (let left = this.#pausedUntil - Date.now(); left > 0; left = this.#pausedUntil - Date.now()) {
      // Spread over a tenth of the pause, so that not all who waited call in the same moment.
      await delay(left + Math.random() * Math.min(left / 10, 1_000), undefined, { signal: this.#closed.signal });
    }
  }

  #acquire(): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}

function readRetryAfter(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('retryAfterMs' in error)) return undefined;
  return typeof error.retryAfterMs === 'number' ? error.retryAfterMs : undefined;
}
