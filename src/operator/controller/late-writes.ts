/**
 * Objects with a write that may take effect yet: the connection broke, or nobody answered in time. If the spec is put back
 * meanwhile, the resource matches it and nothing more is written, so that the revision which the late write names is still
 * the newest when it arrives. So such an object is looked at again for a while, although all is well.
 */
import type { Failure } from '../managed/failure.ts';

/** Proxies and kernels have given up on a request by then; after that, the resync has to do. */
const LONGEST_MS = 5 * 60_000;
const FIRST_MS = 1_000;

export class LateWrites {
  /** When the last such write of each object failed. */
  readonly #since = new Map<string, number>();

  failed(key: string, failure: Failure, now: number): void {
    if (failure.kind === 'transient' && failure.mayTakeEffect) this.#since.set(key, now);
  }

  /** Milliseconds until the next look: as long as it has been since the write. Undefined if no write is expected. */
  nextLookMs(key: string, now: number): number | undefined {
    const since = this.#since.get(key);
    if (since === undefined) return undefined;
    const age = now - since;
    if (age < LONGEST_MS) return Math.max(FIRST_MS, age);
    this.#since.delete(key);
    return undefined;
  }

  forget(key: string): void {
    this.#since.delete(key);
  }
}
