/**
 * Waiting keys, `namespace/name`. Namespaces take turns, whichever has waited longest first, with one key each; within
 * a namespace, first in, first out. A namespace with thousands of keys delays a key of another namespace by one key. Keys of a
 * namespace that have different shares take turns as well.
 */
export class FairQueue {
  /** Those that have waiting keys, each once. */
  readonly #turns = new Fifo<string>();
  readonly #lines = new Map<string, { readonly share: string; readonly keys: Fifo<string> }>();

  /** @param share what the key uses of something that others use as well */
  push(key: string, share = ''): void {
    const name = `${key.slice(0, Math.max(0, key.indexOf('/')))} ${share}`;
    let line = this.#lines.get(name);
    if (!line) {
      line = { share, keys: new Fifo() };
      this.#lines.set(name, line);
      this.#turns.push(name);
    }
    line.keys.push(key);
  }

  /** Takes the next key of a share that is free; undefined when there is none. */
  shift(isFree: (share: string) => boolean = () => true): string | undefined {
    for (let left = this.#turns.size; left > 0; left--) {
      const name = this.#turns.shift() ?? '';
      const line = this.#lines.get(name);
      const key = line && isFree(line.share) ? line.keys.shift() : undefined;
      if (line?.keys.isEmpty) this.#lines.delete(name);
      else this.#turns.push(name);
      if (key !== undefined) return key;
    }
    return undefined;
  }
}

/** `Array.shift` moves all remaining elements each time; this moves them only now and then. */
class Fifo<T> {
  readonly #items: T[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  get isEmpty(): boolean {
    return this.size === 0;
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
