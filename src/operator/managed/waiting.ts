/**
 * Which objects wait for something that only one resource can have, such as a path or a hostport, and which resources have
 * it. Where objects wait for each other, in a circle, each of them would wait for ever. No I/O.
 */

export interface Wait {
  /** The ids of the object's resources. */
  readonly has: readonly string[];
  /** The ids of the resources that have what it needs. */
  readonly wants: readonly string[];
  /** Whether the object still declares what it declared when it was refused, and is worked on. */
  isCurrent(): boolean;
  /** Has the object reconciled soon. */
  wake(): void;
}

export class Waiting {
  /** By the UID of the object. */
  readonly #waits = new Map<string, Wait>();

  set(uid: string, wait: Wait): void {
    this.#waits.set(uid, wait);
  }

  delete(uid: string): void {
    this.#waits.delete(uid);
  }

  /** The object and those that it waits for, each of which waits for the next and the last for the first; else none. */
  circleOf(uid: string): Wait[] {
    const start = this.#waits.get(uid);
    const seen = new Set<Wait>();
    const from = (wait: Wait): Wait[] | undefined => {
      for (const next of this.#current().filter(({ has }) => meet(has, wait.wants))) {
        if (next === start) return [wait];
        if (seen.has(next)) continue;
        seen.add(next);
        const rest = from(next);
        if (rest) return [wait, ...rest];
      }
      return undefined;
    };
    return (start && from(start)) ?? [];
  }

  /** Some of these resources have changed or are gone: they may have given up what others wait for. */
  changed(ids: readonly string[]): void {
    for (const wait of this.#current()) if (meet(wait.wants, ids)) wait.wake();
  }

  #current(): Wait[] {
    for (const [uid, wait] of this.#waits) if (!wait.isCurrent()) this.#waits.delete(uid);
    return [...this.#waits.values()];
  }
}

/** Errors name what lives inside another resource by its own id alone. */
const meet = (some: readonly string[], others: readonly string[]) =>
  some.some((id) => others.some((other) => ownId(id) === ownId(other)));

const ownId = (id: string) => id.slice(id.lastIndexOf('/') + 1);
