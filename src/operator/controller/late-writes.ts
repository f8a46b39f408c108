/**
 * Objects with a write that may take effect yet: the connection broke, or nobody answered in time. If the spec is put back
 * meanwhile, the resource matches it and nothing more is written, so that the revision which the late write names is still
 * the newest when it arrives. So such an object is looked at again for a while, although all is well; and so is one that
 * takes the resource over.
 */
import type { KubeObject } from '../kube/kube-object.ts';
import type { Failure } from '../managed/failure.ts';
import { readIdentity } from '../managed/identity.ts';

/** Proxies and kernels have given up on a request by then; after that, the resync has to do. */
const LONGEST_MS = 5 * 60_000;
const FIRST_MS = 1_000;

export class LateWrites {
  /** When the last such write of each object, and to each resource, failed; the oldest first. */
  readonly #since = new Map<string, number>();

  failed(key: string, object: KubeObject, failure: Failure, now: number): void {
    this.#forgetOld(now);
    if (failure.kind !== 'transient' || !failure.mayTakeEffect) return;
    for (const subject of subjectsOf(key, object)) {
      this.#since.delete(subject);
      this.#since.set(subject, now);
    }
  }

  /** Milliseconds until the next look: as long as it has been since the write. Undefined if no write is expected. */
  nextLookMs(key: string, object: KubeObject, now: number): number | undefined {
    const times = subjectsOf(key, object).flatMap((subject) => this.#since.get(subject) ?? []);
    const age = now - Math.max(...times);
    return age < LONGEST_MS ? Math.max(FIRST_MS, age) : undefined;
  }

  /** The object is gone; its resource may have gone to another one. */
  forget(key: string): void {
    this.#since.delete(key);
  }

  #forgetOld(now: number): void {
    for (const [subject, since] of this.#since) {
      if (now - since < LONGEST_MS) return;
      this.#since.delete(subject);
    }
  }
}

function subjectsOf(key: string, object: KubeObject): string[] {
  const { externalId } = readIdentity(object);
  return externalId === undefined ? [key] : [key, externalId];
}
