/** The keys of objects by the ids that each of them has to do with. No I/O. */
import type { KubeObject } from '../../kube/kube-object.ts';
import { type ObjectChange, statesOf } from '../../kube/object-store.ts';

export class KeyIndex {
  readonly #idsOf: (object: KubeObject) => readonly string[];
  readonly #keys = new Map<string, Set<string>>();

  constructor(idsOf: (object: KubeObject) => readonly string[]) {
    this.#idsOf = idsOf;
  }

  keysOf(id: string): readonly string[] {
    return [...(this.#keys.get(id) ?? [])];
  }

  onChange(change: ObjectChange): void {
    const { before, after } = statesOf(change);
    const idsBefore = new Set(before && this.#idsOf(before));
    const idsAfter = new Set(after && this.#idsOf(after));
    // Unchanged ids keep their place in the order.
    for (const id of idsBefore.difference(idsAfter)) this.#remove(id, change.key);
    for (const id of idsAfter.difference(idsBefore)) this.#add(id, change.key);
  }

  #add(id: string, key: string): void {
    this.#keys.set(id, (this.#keys.get(id) ?? new Set()).add(key));
  }

  #remove(id: string, key: string): void {
    const keys = this.#keys.get(id);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(id);
  }
}
