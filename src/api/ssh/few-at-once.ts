/** Work that is done by few at once, for which few wait. */

export interface Few {
  readonly running: number;
  readonly waiting: number;
  /** What to throw when that many wait already. */
  readonly refusal: () => Error;
}

/** The same work, of which as much is under way and waits as there may be. */
export function fewAtOnce<Result>(
  work: () => Promise<Result>,
  { running: mostRunning, waiting: mostWaiting, refusal }: Few,
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
      // Whoever waits takes the place over; only a place that nobody takes is free.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
