/**
 * An end for what may take forever, with one timer for all of it. A timer for each (the
 * `query_timeout` of pg) keeps what it holds alive for longer than it runs, and collecting that costs more than all the
 * timers.
 */
export interface Deadlines<T> {
  /** From now on it has as long as the limit says. */
  begin(what: T): Deadline<T>;
  /** It has come to its end by itself. Returns whether that was in time, and the first one. */
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
