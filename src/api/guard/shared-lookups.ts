/**
 * Concurrent requests with one API key share lookups of it. A request takes part only in a lookup that begins after it has
 * arrived, so the result is as new as that of a lookup of its own.
 */
import { MOST_WAITING, tooManyWaiting } from './pool-shares.ts';

/** The next lookup does not wait longer than this for the one before it, whose connection may be dead. */
const PATIENCE_MS = 1_000;

/**
 * The result of the next lookup under this name. Without one in progress, it begins at once.
 * @throws what `lookUp` throws, for all who share it; RATE_LIMITED when too many requests wait
 */
export type SharedLookups<T> = (name: string, lookUp: () => Promise<T>) => Promise<T>;

export function shareLookups<T>(patienceMs = PATIENCE_MS): SharedLookups<T> {
  const current = new Map<string, Promise<T>>();
  const next = new Map<string, { found: Promise<T>; waiting: number }>();

  function begin(name: string, lookUp: () => Promise<T>): Promise<T> {
    next.delete(name);
    const found = lookUp().finally(() => {
      if (current.get(name) === found && !next.has(name)) current.delete(name);
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
    const { promise: found, resolve } = Promise.withResolvers<T>();
    next.set(name, { found, waiting: 1 });
    const start = () => {
      clearTimeout(timer);
      if (next.get(name)?.found === found) resolve(begin(name, lookUp));
    };
    const timer = setTimeout(start, patienceMs);
    before.then(start, start);
    return found;
  };
}
