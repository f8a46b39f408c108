/** Admits a burst, then a steady rate. */

export interface Rate {
  burst: number;
  perSecond: number;
}

export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #filledAt: number;

  /** @param now milliseconds of a monotonic clock */
  constructor(rate: Rate, now = performance.now()) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#filledAt = now;
  }

  /** False when there is none left. */
  take(now = performance.now()): boolean {
    const { burst, perSecond } = this.#rate;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1000) * perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
