/**
 * What keeps a process from being ready: a cache that is not filled, or has not heard from the API server for too long.
 */
import type { Obstacle } from '../kube/obstacle.ts';

/** A watch that stays silent for this many silence timeouts was closed and could not be resumed. */
const SILENCES_UNTIL_STALE = 2;

export interface CacheState {
  name: string;
  /** Milliseconds since the last message from the API server; undefined before the first list. */
  staleness: number | undefined;
  /** What a person must fix before it can be filled. */
  obstacle: Obstacle | undefined;
}

export interface Readiness {
  /** Why the process is not ready; empty if it is. */
  problems: string[];
  /** Problems that do not keep the process from being ready. */
  details: string[];
}

/**
 * A kind without its CustomResourceDefinition has no objects, so the process is ready without it, unless there is none
 * for any kind.
 */
export function readiness(kinds: readonly CacheState[], others: readonly CacheState[], silenceMs: number): Readiness {
  const missing = kinds.filter(({ obstacle }) => obstacle?.kind === 'missing');
  const isReadyWithout = missing.length < kinds.length;
  const inQuestion = [...kinds, ...others].filter((state) => !isReadyWithout || !missing.includes(state));
  return {
    problems: inQuestion.flatMap((state) => problemOf(state, silenceMs) ?? []),
    details: isReadyWithout ? missing.map(({ name, obstacle }) => `${name}: ${obstacle?.message}`) : [],
  };
}

function problemOf({ name, staleness, obstacle }: CacheState, silenceMs: number): string | undefined {
  if (obstacle !== undefined) return `${name}: ${obstacle.message}`;
  if (staleness === undefined) return `${name}: not listed yet`;
  if (staleness <= silenceMs * SILENCES_UNTIL_STALE) return undefined;
  return `${name}: the watch has been silent for ${Math.round(staleness / 1000)} s`;
}
