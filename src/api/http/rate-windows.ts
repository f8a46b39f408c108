/** Counts requests by window, for `@fastify/rate-limit`. */
import type { FastifyRateLimitStore } from '@fastify/rate-limit';

/** Of how many it is remembered what they have sent. Of more, those that were last heard of longest ago are forgotten. */
const REMEMBERED = 5000;

interface Window {
  count: number;
  startedAt: number;
}

type Callback = Parameters<FastifyRateLimitStore['incr']>[1];

/**
 * The plugin's own store goes by the wall clock: where that is set back by an hour, a window that has begun lasts for an
 * hour more. This one goes by a clock that is never set.
 */
export class RateWindows implements FastifyRateLimitStore {
  /** Last heard of longest ago first. */
  readonly #windows = new Map<string, Window>();

  incr(key: string, callback: Callback, windowMs: number): void {
    const now = performance.now();
    const { count, startedAt } = this.#at(now, key, windowMs);
    const windows = this.#windows;
    windows.delete(key);
    windows.set(key, { count: count + 1, startedAt });
    if (windows.size > REMEMBERED) for (const oldest of windows.keys().take(1)) windows.delete(oldest);
    callback(null, { current: count + 1, ttl: startedAt + windowMs - now });
  }

  /** The same without counting. */
  read(key: string, callback: Callback, windowMs: number): void {
    const now = performance.now();
    const { count, startedAt } = this.#at(now, key, windowMs);
    callback(null, { current: count, ttl: startedAt + windowMs - now });
  }

  child(): RateWindows {
    return new RateWindows();
  }

  #at(now: number, key: string, windowMs: number): Window {
    const known = this.#windows.get(key);
    return known && now - known.startedAt < windowMs ? known : { count: 0, startedAt: now };
  }
}
