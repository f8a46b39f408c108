/** Limits how many calls of a function run and wait at the same time. */

export interface ConcurrencyLimits {
  readonly running: number;
  readonly waiting: number;
  /** The error if too many are already waiting. */
  readonly refusal: () => Error;
}

/** Wraps `work`: further calls wait in order, or are refused if too many are waiting. */
export function limitConcurrency<Result>(
  work: () => Promise<Result>,
  { running: mostRunning, waiting: mostWaiting, refusal }: ConcurrencyLimits,
): () => Promise<Result> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async () => {
    if (running >= mostRunning) {
      if (waiting.length >= mostWaiting) throw refusal();
      await new Promise<void>((turn) => void waiting.push(turn));
    } else running++;
    try {
      return await work();
    } finally {
      // The next waiting call takes over the place; it becomes free only if none is waiting.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
