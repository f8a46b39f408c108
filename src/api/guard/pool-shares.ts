/**
 * How many connections to the database one caller may use at once. The pool serves requests in the order in which they
 * arrive, so one key with many requests would keep all others waiting.
 */
import { rateLimited } from '../errors/errors.ts';
import type { Database } from '../store/database.ts';

/** A semaphore for each name. */
export interface Semaphores {
  /** Waits for a permit; returns the function that releases it. @throws RATE_LIMITED when too many requests wait */
  acquire(name: string): Promise<() => void>;
}

/** Bounds the memory of waiting requests while the database hangs. At other times the rate limits take effect first. */
export const MOST_WAITING = 1000;

export const tooManyWaiting = () => rateLimited(1, 'Too many requests at once; wait for responses.');

/** @param permits of each name */
export function createSemaphores(permits: number): Semaphores {
  const holders = new Map<string, { used: number; readonly waiting: (() => void)[] }>();
  return {
    async acquire(name) {
      const holder = holders.get(name) ?? { used: 0, waiting: [] };
      holders.set(name, holder);
      const { waiting } = holder;
      if (holder.used < permits) holder.used++;
      else if (waiting.length >= MOST_WAITING) throw tooManyWaiting();
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return () => {
        const next = waiting.shift();
        // In another turn of the event loop: a long queue of requests that fail at once would hold up all others.
        if (next) setImmediate(next);
        else holder.used--;
        if (holder.used === 0) holders.delete(name);
      };
    },
  };
}

export interface PoolShares {
  /** Permits for operations, by key and by owner. A request acquires both, that of the key first. */
  keys: Semaphores;
  owners: Semaphores;
  /** Permits for lookups of all keys together that were not valid when last seen. Other keys share theirs (shared-lookups.ts). */
  strangers: Semaphores;
}

export function createPoolShares({ poolSize }: Pick<Database, 'poolSize'>): PoolShares {
  const share = (part: number) => createSemaphores(Math.max(1, Math.floor(poolSize * part)));
  return { keys: share(1 / 2), owners: share(3 / 4), strangers: share(2 / 5) };
}
