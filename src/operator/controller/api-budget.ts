/**
 * One budget for all calls to the management API: it bounds how many are in flight, and when the API answers with
 * Retry-After, it holds every call back until then.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** A longer Retry-After is cut to this: a wrong header must not stop the operator for hours. */
export const LONGEST_PAUSE_MS = 5 * 60_000;

export class ApiBudget {
  #free: number;
  #pausedUntil = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #closed = new AbortController();

  /** @param most calls in flight at a time */
  constructor(most: number) {
    this.#free = most;
  }

  /** Runs `attempt` as soon as the budget allows. */
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

  /** Admits nothing for the next `ms`. */
  pause(ms: number, now = performance.now()): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(ms, LONGEST_PAUSE_MS));
  }

  /** Ends every pause: calls that wait for one fail, now and later, for this reason. */
  close(why?: Error): void {
    this.#closed.abort(why);
  }

  async #waitForPause(): Promise<void> {
    for (let left = this.#left; left > 0; left = this.#left) {
      // Jitter of a tenth of the pause, so that waiting calls do not all start at the same moment.
      const ms = left + Math.random() * Math.min(left / 10, 1_000);
      await delay(ms, undefined, { signal: this.#closed.signal }).catch(() => this.#closed.signal.throwIfAborted());
    }
  }

  get #left(): number {
    return this.#pausedUntil - performance.now();
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
