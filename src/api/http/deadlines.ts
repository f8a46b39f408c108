/** Limits how long something may take, with one timer for all of it. */
export interface Deadlines<T> {
  /** Starts the deadline of an item. */
  begin(what: T): Deadline<T>;
  /** Ends the deadline; returns false if it had passed or ended before. */
  end(deadline: Deadline<T>): boolean;
  stop(): void;
}

export interface Deadline<T> {
  readonly what: T;
  readonly since: number;
  /** Its place among those that are running; -1 when it is over. */
  at: number;
}

export interface DeadlineOptions<T> {
  /** Milliseconds; it may take up to a quarter, at most a second, longer. */
  limitMs: number;
  onLate(what: T): void;
}

export function createDeadlines<T>({ limitMs, onLate }: DeadlineOptions<T>): Deadlines<T> {
  // Not a Map or Set: each time they grow, an old table stays behind that holds what it held until a full collection.
  const running: Deadline<T>[] = [];

  function end(deadline: Deadline<T>): boolean {
    const { at } = deadline;
    if (at === -1) return false;
    deadline.at = -1;
    const last = running.pop();
    if (last !== undefined && last !== deadline) {
      running[at] = last;
      last.at = at;
    }
    return true;
  }

  function look(): void {
    const before = performance.now() - limitMs;
    for (const deadline of [...running]) {
      if (deadline.since <= before && end(deadline)) onLate(deadline.what);
    }
  }

  const timer = setInterval(look, Math.min(1_000, limitMs / 4)).unref();
  return {
    begin(what) {
      const deadline = { what, since: performance.now(), at: running.length };
      running.push(deadline);
      return deadline;
    },
    end,
    stop: () => clearInterval(timer),
  };
}
