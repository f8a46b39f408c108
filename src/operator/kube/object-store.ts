/** The newest known version of every object of one kind, and what changed when a newer one arrives. Pure; no I/O. */
import { isNewer, type KubeObject, keyOf } from './kube-object.ts';

export type ObjectChange =
  | { type: 'added'; key: string; object: KubeObject }
  | { type: 'updated'; key: string; object: KubeObject; previous: KubeObject }
  | { type: 'deleted'; key: string; object: KubeObject };

/** `own`: a write of this process, taken in when it was answered; `watch`: anything else. */
export type ChangeOrigin = 'watch' | 'own';

/** Is told of every change of a cache, as a ResourceEventHandler of client-go is. */
export interface ChangeHandler {
  onChange(change: ObjectChange, origin: ChangeOrigin): void;
}

export class ObjectStore {
  readonly #objects = new Map<string, KubeObject>();
  /** Versions at which objects were last seen deleted, so that a late write-through does not bring one back. */
  readonly #tombstones = new Map<string, { uid: string; at: number }>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<KubeObject> {
    return this.#objects.values();
  }

  /**
   * Takes in a version of an object, from a watch or from the answer to a write of ours. One that is older than what is
   * known is ignored; one with another UID means that the known object was deleted and its name used again.
   */
  put(object: KubeObject): ObjectChange[] {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (!known) {
      if (this.#tombstones.get(key)?.uid === object.metadata.uid) return [];
      this.#objects.set(key, object);
      return [{ type: 'added', key, object }];
    }
    if (!isNewer(object.metadata.resourceVersion, known.metadata.resourceVersion)) return [];
    this.#objects.set(key, object);
    if (known.metadata.uid === object.metadata.uid) return [{ type: 'updated', key, object, previous: known }];
    return [
      { type: 'deleted', key, object: known },
      { type: 'added', key, object },
    ];
  }

  /** Takes in a deletion; one of an object that was since re-created is ignored. */
  remove(object: KubeObject, now = Date.now()): ObjectChange[] {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (!known || known.metadata.uid !== object.metadata.uid) return [];
    this.#objects.delete(key);
    // Again at the end: they are forgotten in the order of the map.
    this.#tombstones.delete(key);
    this.#tombstones.set(key, { uid: object.metadata.uid, at: now });
    this.#forgetTombstones(now);
    return [{ type: 'deleted', key, object: known }];
  }

  /** Makes the store what a complete list said. Objects are told apart by UID, so a re-creation shows as both. */
  replace(objects: KubeObject[], listVersion: string): ObjectChange[] {
    const listed = new Set(objects.map(keyOf));
    const gone = [...this.#objects.values()].filter(
      // A write of ours may be newer than the list; its object is not gone.
      (known) => !listed.has(keyOf(known)) && !isNewer(known.metadata.resourceVersion, listVersion),
    );
    return [...gone.flatMap((object) => this.remove(object)), ...objects.flatMap((object) => this.put(object))];
  }

  #forgetTombstones(now: number): void {
    for (const [key, { at }] of this.#tombstones) {
      if (now - at < TOMBSTONE_MS) return;
      this.#tombstones.delete(key);
    }
  }
}

/** Longer than any request of ours can be under way. */
const TOMBSTONE_MS = 120_000;
