/**
 * A keyed work queue with the semantics of client-go's: a key waits at most once, is worked on by one worker at a time,
 * and comes back when it was added while being worked on. Failed keys wait longer each time.
 */
import { type BackoffOptions, backoff } from '../../retry/backoff.ts';

export interface QueueObserver {
  added?(): void;
  /** Seconds between being added and being taken. */
  taken?(waitedSeconds: number): void;
  finished?(workedSeconds: number): void;
  retried?(): void;
}

export class WorkQueue {
  readonly #ready: string[] = [];
  #head = 0;
  readonly #waiting = new Map<string, number>();
  readonly #working = new Map<string, number>();
  readonly #again = new Set<string>();
  /** Keys that were added since they were last taken, not only hinted at. */
  readonly #demanded = new Set<string>();
  readonly #timers = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  readonly #backoff: BackoffOptions;
  readonly #observer: QueueObserver;
  #closed = false;

  constructor(options: BackoffOptions, observer: QueueObserver = {}) {
    this.#backoff = options;
    this.#observer = observer;
  }

  /** Keys that wait for a worker. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** Start times (`performance.now()`) of what is being worked on. */
  underWay(): IterableIterator<number> {
    return this.#working.values();
  }

  add(key: string): void {
    if (this.#closed) return;
    this.#demanded.add(key);
    this.hint(key);
  }

  /** Adds a key that may need no work; whoever takes it can tell by `takeDemand`. */
  hint(key: string): void {
    if (this.#closed || this.#waiting.has(key) || this.#again.has(key)) return;
    this.#observer.added?.();
    if (this.#working.has(key)) {
      this.#again.add(key);
      return;
    }
    this.#enqueue(key);
  }

  /** Adds the key after `ms`; of several such calls the earliest counts. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    const at = performance.now() + ms;
    const pending = this.#timers.get(key);
    if (pending && pending.at <= at) return;
    if (pending) clearTimeout(pending.timer);
    const timer = setTimeout(
      () => {
        this.#timers.delete(key);
        if (ms > LONGEST_TIMER_MS) this.addAfter(key, ms - LONGEST_TIMER_MS);
        else this.add(key);
      },
      Math.min(ms, LONGEST_TIMER_MS),
    );
    this.#timers.set(key, { at, timer });
  }

  /**
   * Adds the key after its backoff, which grows with every call until `forget`; never sooner than `atLeastMs`.
   * `quickFirst` makes the first of these short: for a conflict, whose newer version is on its way.
   */
  addRateLimited(
    key: string,
    { atLeastMs = 0, quickFirst = false }: { atLeastMs?: number | undefined; quickFirst?: boolean } = {},
  ): void {
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    this.#observer.retried?.();
    const wait = quickFirst && failures === 1 ? QUICK_MS : backoff(failures, this.#backoff);
    this.addAfter(key, Math.max(atLeastMs, wait));
  }

  /** Whether the key that was just taken had been added, by `add` or by a timer, and not only hinted at. */
  takeDemand(key: string): boolean {
    return this.#demanded.delete(key);
  }

  /** How often in a row the key has failed. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Drops what is known of a key whose object is gone. */
  drop(key: string): void {
    this.forget(key);
    this.#demanded.delete(key);
    const pending = this.#timers.get(key);
    if (pending) clearTimeout(pending.timer);
    this.#timers.delete(key);
  }

  /** The next key, as soon as there is one; undefined once the queue is shut down. Must be followed by `done`. */
  take(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const key = this.#ready[this.#head];
    if (key === undefined) return new Promise((resolve) => this.#takers.push(resolve));
    this.#head++;
    if (this.#head > 1024 && this.#head * 2 > this.#ready.length) {
      this.#ready.splice(0, this.#head);
      this.#head = 0;
    }
    this.#begin(key);
    return Promise.resolve(key);
  }

  done(key: string): void {
    const started = this.#working.get(key);
    if (started !== undefined) this.#observer.finished?.((performance.now() - started) / 1000);
    this.#working.delete(key);
    if (this.#again.delete(key) && !this.#closed) this.#enqueue(key);
  }

  /** Hands out nothing more; workers that wait get undefined, timers end. */
  shutDown(): void {
    this.#closed = true;
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    for (const give of this.#takers.splice(0)) give(undefined);
  }

  #enqueue(key: string): void {
    this.#waiting.set(key, performance.now());
    const give = this.#takers.shift();
    if (give) {
      this.#begin(key);
      give(key);
    } else {
      this.#ready.push(key);
    }
  }

  #begin(key: string): void {
    const now = performance.now();
    this.#observer.taken?.((now - (this.#waiting.get(key) ?? now)) / 1000);
    this.#waiting.delete(key);
    this.#working.set(key, now);
  }
}

const QUICK_MS = 50;

/** Longer delays overflow setTimeout, which then fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
