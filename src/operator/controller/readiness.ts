/** What keeps a process from being ready: a cache that is not filled, or has not heard of the API server for too long. */

/** A watch that has been silent for this many silence deadlines was cut, and could not be resumed. */
const SILENCES_UNTIL_STALE = 2;

export interface CacheState {
  name: string;
  /** Milliseconds since the API server was last heard of; undefined before the first list. */
  staleness: number | undefined;
  /** Which right the operator lacks to fill it, in words; undefined when it lacks none. */
  missingRight: string | undefined;
}

export function cacheProblems(caches: readonly CacheState[], silenceMs: number): string[] {
  return caches.flatMap(({ name, staleness, missingRight }) => {
    if (missingRight !== undefined) return [`${name}: ${missingRight}`];
    if (staleness === undefined) return [`${name}: not listed yet`];
    if (staleness <= silenceMs * SILENCES_UNTIL_STALE) return [];
    return [`${name}: the watch was last heard of ${Math.round(staleness / 1000)} s ago`];
  });
}
