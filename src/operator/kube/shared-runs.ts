/** Runs work once for all callers that ask for the same key at the same time. */
interface Run {
  readonly running: Promise<void>;
  /** The run requested while this one was under way. */
  next: Promise<void> | undefined;
}

export class SharedRuns {
  readonly #runs = new Map<string, Run>();

  /** Resolves when a run that began after this call is done: the one under way may have begun too early. */
  run(key: string, work: () => Promise<void>): Promise<void> {
    const known = this.#runs.get(key);
    if (!known) return this.#start(key, work);
    const start = () => this.#start(key, work);
    known.next ??= known.running.then(start, start);
    return known.next;
  }

  #start(key: string, work: () => Promise<void>): Promise<void> {
    const entry: Run = { running: work(), next: undefined };
    this.#runs.set(key, entry);
    return entry.running.finally(() => {
      if (entry.next === undefined) this.#runs.delete(key);
    });
  }
}
