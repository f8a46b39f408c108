/**
 * Concurrent requests with one API key share lookups of it. A request takes part only in a lookup that begins after it has
 * arrived, so the result is as new as that of a lookup of its own; and a key uses one connection to the database at most.
 */
import { MOST_WAITING, tooManyWaiting } from './pool-shares.ts';

/**
 * The result of the next lookup under this name. Without one in progress, it begins at once.
 * @throws what `lookUp` throws, for all who share it; RATE_LIMITED when too many requests wait
 */
export type SharedLookups<T> = (name: string, lookUp: () => Promise<T>) => Promise<T>;

export function shareLookups<T>(): SharedLookups<T> {
  const current = new Map<string, Promise<T>>();
  const next = new Map<string, { found: Promise<T>; waiting: number }>();

  function begin(name: string, lookUp: () => Promise<T>): Promise<T> {
    next.delete(name);
    const found = lookUp().finally(() => {
      if (!next.has(name)) current.delete(name);
    });
    current.set(name, found);
    return found;
  }

  return async (name, lookUp) => {
    const shared = next.get(name);
    if (shared) {
      if (shared.waiting >= MOST_WAITING) throw tooManyWaiting();
      shared.waiting++;
      return shared.found;
    }
    const before = current.get(name);
    if (!before) return begin(name, lookUp);
    const start = () => begin(name, lookUp);
    const found = before.then(start, start);
    next.set(name, { found, waiting: 1 });
    return found;
  };
}
