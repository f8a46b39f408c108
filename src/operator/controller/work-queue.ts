/**
 * A keyed work queue with the semantics and vocabulary of client-go's: a key waits at most once, is processed by one
 * worker at a time, and is requeued if it was added while being processed. Failed keys back off. Unlike client-go's,
 * it lets namespaces take turns.
 *
 * `addIfNeeded` is like a predicate in controller-runtime, but evaluated when the key's turn comes, not when it is
 * added. A watch often reports our own write before the response to the write arrives; only after that is it clear that
 * there is nothing to do.
 */
import { type BackoffOptions, backoff } from '../../retry/backoff.ts';
import { FairQueue } from './fair-queue.ts';

export interface QueueObserver {
  added?(): void;
  /** Seconds between being added and being handed out. */
  handedOut?(waitedSeconds: number): void;
  done?(workedSeconds: number): void;
  retried?(): void;
}

export interface WorkQueueOptions {
  backoff: BackoffOptions;
  /** Whether this process works on the key; other keys are not added. */
  accepts?: (key: string) => boolean;
  /** Whether a key needs work; called when its turn comes, for keys added only by `addIfNeeded`. */
  isNeeded?: (key: string) => boolean;
  observer?: QueueObserver;
  /** Keys of one share use the same thing, such as a connection; at most so many of them are processed at a time. */
  shares?: { of(key: string): string; most: number };
}

/** Options of one rate-limited add. */
export interface RateLimit {
  /** Lower bound of the delay. */
  atLeastMs?: number;
  /** Upper bound of the backoff, instead of the queue's. */
  longestMs?: number;
  /** Makes the first backoff short: after a conflict, the newer version is about to arrive. */
  quickFirst?: boolean;
}

export class WorkQueue {
  readonly #ready = new FairQueue();
  /** When each waiting key was added. */
  readonly #waiting = new Map<string, number>();
  /** When each key that is being processed was handed out. */
  readonly #processing = new Map<string, number>();
  /** The share of each key that is being processed, and how many keys of each share are. */
  readonly #shareOf = new Map<string, string>();
  readonly #busy = new Map<string, number>();
  readonly #shares: NonNullable<WorkQueueOptions['shares']>;
  /** Keys added while being processed: `done` requeues them. */
  readonly #dirty = new Set<string>();
  /** Keys to hand out next time without asking `isNeeded`. */
  readonly #unconditional = new Set<string>();
  readonly #timers = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  readonly #failures = new Map<string, number>();
  readonly #getters: ((key: string | undefined) => void)[] = [];
  readonly #backoff: BackoffOptions;
  readonly #accepts: (key: string) => boolean;
  readonly #isNeeded: (key: string) => boolean;
  readonly #observer: QueueObserver;
  #isShutDown = false;

  constructor(options: WorkQueueOptions) {
    const { backoff, accepts = () => true, isNeeded = () => true, observer = {}, shares = UNSHARED } = options;
    this.#shares = shares;
    this.#backoff = backoff;
    this.#accepts = accepts;
    this.#isNeeded = isNeeded;
    this.#observer = observer;
  }

  /** Number of keys waiting for a worker. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** When (`performance.now()`) each key that is being processed was handed out. */
  processingSince(): IterableIterator<number> {
    return this.#processing.values();
  }

  add(key: string): void {
    if (this.#isShutDown || !this.#accepts(key)) return;
    this.#unconditional.add(key);
    this.addIfNeeded(key);
  }

  /** Adds a key that is skipped if `isNeeded` says no when its turn comes. */
  addIfNeeded(key: string): void {
    if (this.#isShutDown || !this.#accepts(key) || this.#waiting.has(key) || this.#dirty.has(key)) return;
    this.#observer.added?.();
    if (this.#processing.has(key)) this.#dirty.add(key);
    else this.#enqueue(key);
  }

  /** Adds the key after `ms`; of several pending adds the earliest wins. */
  addAfter(key: string, ms: number): void {
    if (this.#isShutDown) return;
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

  /** Adds the key after its backoff, which grows with every call until `forget`. */
  addRateLimited(key: string, limit: RateLimit = {}): void {
    const { atLeastMs = 0, longestMs = this.#backoff.longestMs, quickFirst = false } = limit;
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    this.#observer.retried?.();
    const wait = quickFirst && failures === 1 ? QUICK_MS : backoff(failures, { ...this.#backoff, longestMs });
    this.addAfter(key, Math.max(atLeastMs, wait));
  }

  /** Consecutive failures of the key. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The key has succeeded or its object has changed: the next failure is its first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Drops everything about a key whose object is gone: an object of the same name starts afresh. */
  drop(key: string): void {
    this.forget(key);
    this.#unconditional.delete(key);
    const pending = this.#timers.get(key);
    if (pending) clearTimeout(pending.timer);
    this.#timers.delete(key);
  }

  /** Waits for the next key; undefined once the queue is shut down. Call `done` for each key. */
  get(): Promise<string | undefined> {
    if (this.#isShutDown) return Promise.resolve(undefined);
    const key = this.#next();
    if (key !== undefined) return Promise.resolve(key);
    return new Promise((resolve) => this.#getters.push(resolve));
  }

  done(key: string): void {
    this.#finish(key);
    // The share of the key may have been all that held back a waiting one.
    this.#serve();
  }

  #finish(key: string): void {
    const started = this.#processing.get(key);
    if (started !== undefined) this.#observer.done?.((performance.now() - started) / 1000);
    this.#processing.delete(key);
    this.#leaveShare(key);
    if (this.#dirty.delete(key) && !this.#isShutDown) this.#enqueue(key);
  }

  /** Hands out no more keys: waiting workers get undefined, and timers are cleared. */
  shutDown(): void {
    this.#isShutDown = true;
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    for (const give of this.#getters.splice(0)) give(undefined);
  }

  #enqueue(key: string): void {
    this.#waiting.set(key, performance.now());
    this.#ready.push(key, this.#shares.of(key));
    this.#serve();
  }

  /** Gives waiting workers what may be processed now: the share of a key may have changed while it waited. */
  #serve(): void {
    while (!this.#isShutDown && this.#getters.length > 0) {
      const key = this.#next();
      if (key === undefined) return;
      this.#getters.shift()?.(key);
    }
  }

  #next(): string | undefined {
    const isFree = (share: string) => this.#isFree(share);
    for (let key = this.#ready.shift(isFree); key !== undefined; key = this.#ready.shift(isFree)) {
      if (this.#handOut(key)) return key;
    }
    return undefined;
  }

  #isFree(share: string): boolean {
    return (this.#busy.get(share) ?? 0) < this.#shares.most;
  }

  #leaveShare(key: string): void {
    const share = this.#shareOf.get(key);
    if (share === undefined) return;
    this.#shareOf.delete(key);
    const others = (this.#busy.get(share) ?? 0) - 1;
    if (others > 0) this.#busy.set(share, others);
    else this.#busy.delete(share);
  }

  /** False if the key turns out not to need work; it is then done. */
  #handOut(key: string): boolean {
    const now = performance.now();
    this.#observer.handedOut?.((now - (this.#waiting.get(key) ?? now)) / 1000);
    this.#waiting.delete(key);
    this.#processing.set(key, now);
    const share = this.#shares.of(key);
    this.#shareOf.set(key, share);
    this.#busy.set(share, (this.#busy.get(share) ?? 0) + 1);
    if (this.#unconditional.delete(key) || this.#isNeeded(key)) return true;
    this.#finish(key);
    return false;
  }
}

const UNSHARED = { of: () => '', most: Number.POSITIVE_INFINITY };

const QUICK_MS = 50;

/** Longer delays overflow setTimeout, which then fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
