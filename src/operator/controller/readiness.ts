/**
 * What keeps a process from being ready: a cache that is not filled, or has not heard from the API server for too long.
 */

/** A watch that stays silent for this many silence timeouts was closed and could not be resumed. */
const SILENCES_UNTIL_STALE = 2;

export interface CacheState {
  name: string;
  /** Milliseconds since the last message from the API server; undefined before the first list. */
  staleness: number | undefined;
  /** The permission that the operator lacks to fill it, as a sentence; undefined if it lacks none. */
  missingRight: string | undefined;
}

export function cacheProblems(caches: readonly CacheState[], silenceMs: number): string[] {
  return caches.flatMap(({ name, staleness, missingRight }) => {
    if (missingRight !== undefined) return [`${name}: ${missingRight}`];
    if (staleness === undefined) return [`${name}: not listed yet`];
    if (staleness <= silenceMs * SILENCES_UNTIL_STALE) return [];
    return [`${name}: the watch has been silent for ${Math.round(staleness / 1000)} s`];
  });
}
