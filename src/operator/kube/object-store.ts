/** The newest known version of every object of one kind. Reports what changed when a newer one arrives. No I/O. */
import { isNewer, type KubeObject, keyOf } from './kube-object.ts';

export type ObjectChange =
  | { type: 'added'; key: string; object: KubeObject }
  | { type: 'updated'; key: string; object: KubeObject; previous: KubeObject }
  | { type: 'deleted'; key: string; object: KubeObject };

/** `own`: a write by this process, stored when its response arrived; `watch`: anything else. */
export type ChangeOrigin = 'watch' | 'own';

/** Notified of every change in a cache, like a ResourceEventHandler of client-go. */
export interface ChangeHandler {
  onChange(change: ObjectChange, origin: ChangeOrigin): void;
}

export class ObjectStore {
  readonly #objects = new Map<string, KubeObject>();
  /** Recently deleted objects, so that the late response to a write does not bring one back. */
  readonly #tombstones = new Map<string, { uid: string; version: string; at: number }>();

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
   * Stores a version of an object, from a watch or from the response to our own write. A version older than the known
   * one is ignored. Another UID means that the known object was deleted and its name reused.
   */
  put(object: KubeObject): ObjectChange[] {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (!known) {
      if (this.#isBuried(key, object)) return [];
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

  /**
   * Removes an object that was deleted, or that no longer matches the selector of the watch, to which it may come back;
   * ignored if the object has been re-created or changed since.
   */
  remove(object: KubeObject, now = Date.now()): ObjectChange[] {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (!known || known.metadata.uid !== object.metadata.uid) {
      // The response to an earlier read of it may still be under way.
      const isNews = !known && !this.#tombstones.has(key);
      if (isNews || this.#tombstones.get(key)?.uid === object.metadata.uid) this.#bury(key, object, now);
      return [];
    }
    if (isNewer(known.metadata.resourceVersion, object.metadata.resourceVersion)) return [];
    this.#objects.delete(key);
    this.#bury(key, object, now);
    return [{ type: 'deleted', key, object: known }];
  }

  /**
   * Replaces the contents, or those of one namespace, with a complete list. Compares by UID, so a re-creation shows as a
   * deletion and an addition.
   */
  replace(objects: KubeObject[], listVersion: string, namespace?: string): ObjectChange[] {
    const listed = new Set(objects.map(keyOf));
    const gone = [...this.#objects.values()].filter(
      // An object written by this process may be newer than the list; it is not gone.
      (known) =>
        (namespace === undefined || known.metadata.namespace === namespace) &&
        !listed.has(keyOf(known)) &&
        !isNewer(known.metadata.resourceVersion, listVersion),
    );
    const asListed = ({ metadata, ...rest }: KubeObject) => ({
      ...rest,
      metadata: { ...metadata, resourceVersion: listVersion },
    });
    return [
      ...gone.flatMap((object) => this.remove(asListed(object))),
      ...objects.flatMap((object) => this.put(object)),
    ];
  }

  /** Drops the objects of a namespace as if it had never been known: they may come back unchanged. */
  forget(namespace: string): ObjectChange[] {
    const gone = [...this.#objects].filter(([, { metadata }]) => metadata.namespace === namespace);
    for (const [key] of gone) this.#objects.delete(key);
    return gone.map(([key, object]) => ({ type: 'deleted', key, object }));
  }

  #isBuried(key: string, { metadata: { uid, resourceVersion } }: KubeObject): boolean {
    const tombstone = this.#tombstones.get(key);
    return tombstone?.uid === uid && !isNewer(resourceVersion, tombstone.version);
  }

  #bury(key: string, { metadata: { uid, resourceVersion } }: KubeObject, at: number): void {
    const before = this.#tombstones.get(key);
    const isLater = before?.uid === uid && isNewer(before.version, resourceVersion);
    // Reinserted at the end: tombstones expire in the order of the map.
    this.#tombstones.delete(key);
    this.#tombstones.set(key, { uid, version: isLater ? before.version : resourceVersion, at });
    this.#forgetTombstones(at);
  }

  #forgetTombstones(now: number): void {
    for (const [key, { at }] of this.#tombstones) {
      if (now - at < TOMBSTONE_MS) return;
      this.#tombstones.delete(key);
    }
  }
}

/** Longer than any request can take. */
const TOMBSTONE_MS = 120_000;

/** The object before the change and after it; undefined where there was or is none. */
export function statesOf(change: ObjectChange): { before: KubeObject | undefined; after: KubeObject | undefined } {
  switch (change.type) {
    case 'added':
      return { before: undefined, after: change.object };
    case 'updated':
      return { before: change.previous, after: change.object };
    case 'deleted':
      return { before: change.object, after: undefined };
  }
}
