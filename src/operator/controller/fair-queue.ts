/**
 * Waiting keys, `namespace/name`. Namespaces take turns, whichever has waited longest first, with one key each; within
 * a namespace, first in, first out. A namespace with thousands of keys delays a key of another namespace by one key.
 */
export class FairQueue {
  /** Namespaces that have waiting keys, each once. */
  readonly #turns = new Fifo<string>();
  readonly #keys = new Map<string, Fifo<string>>();

  push(key: string): void {
    const namespace = key.slice(0, Math.max(0, key.indexOf('/')));
    let keys = this.#keys.get(namespace);
    if (!keys) {
      keys = new Fifo();
      this.#keys.set(namespace, keys);
      this.#turns.push(namespace);
    }
    keys.push(key);
  }

  /** Takes the next key; undefined when there is none. */
  shift(): string | undefined {
    const namespace = this.#turns.shift();
    if (namespace === undefined) return undefined;
    const keys = this.#keys.get(namespace);
    const key = keys?.shift();
    if (keys?.isEmpty) this.#keys.delete(namespace);
    else this.#turns.push(namespace);
    return key;
  }
}

/** `Array.shift` moves all remaining elements each time; this moves them only now and then. */
class Fifo<T> {
  readonly #items: T[] = [];
  #head = 0;

  get isEmpty(): boolean {
    return this.#head === this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.isEmpty) return undefined;
    const item = this.#items[this.#head++];
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
    return item;
  }
}
