/**
 * A local copy of one kind, of all namespaces or of some, kept by list and watch. Namespaces are listed and watched each by
 * itself: rights in one of them do not permit a list across all.
 */
import type { KubeApi } from './kube-api.ts';
import { type KubeObject, keyOf, LAST_APPLIED } from './kube-object.ts';
import { ListWatch, type ListWatchOptions } from './list-watch.ts';
import { skipped } from './namespace-presence.ts';
import { type ChangeHandler, type ChangeOrigin, type ObjectChange, ObjectStore } from './object-store.ts';
import type { Obstacle } from './obstacle.ts';
import { SharedRuns } from './shared-runs.ts';

export interface WatchCacheOptions extends Omit<ListWatchOptions, 'namespace' | 'sink'> {
  /** All, if undefined. */
  namespaces?: readonly string[] | undefined;
  /** With all namespaces: which of them count. Call `relist` when one is added, and `forget` when one is removed. */
  isWatched?: ((namespace: string) => boolean) | undefined;
  /** Of these, which have been listed since they were added. */
  isListed?: ((namespace: string) => boolean) | undefined;
  /** Keeps only what the controller reads; called once per object version. */
  transform?: (object: KubeObject) => KubeObject;
  /** Whether to keep the object; without it, all are kept. */
  isKept?: (object: KubeObject) => boolean;
}

const NOT_LISTED = 'not listed yet';

export class WatchCache {
  readonly store = new ObjectStore();
  readonly #options: WatchCacheOptions;
  readonly #handlers: ChangeHandler[] = [];
  readonly #parts: readonly ListWatch[];
  readonly #catchingUp = new SharedRuns();

  constructor(api: KubeApi, { namespaces, ...options }: WatchCacheOptions) {
    this.#options = options;
    const scopes = namespaces === undefined ? [undefined] : [...new Set(namespaces)];
    this.#parts = scopes.map((namespace) => {
      return new ListWatch(api, { ...options, namespace, sink: this.#sink(namespace) });
    });
  }

  /** By its plural name. */
  get resource(): string {
    return this.#options.type.plural;
  }

  /** Notifies the handler of every change from now on, after the handlers added before it. */
  addHandler(handler: ChangeHandler): void {
    this.#handlers.push(handler);
  }

  /** Starts to list and watch; resolves when all that can be listed is in the store. */
  async start(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.start()));
  }

  /** Resolves when the first list, of every namespace, is in the store. */
  get filled(): Promise<void> {
    return Promise.all(this.#parts.map(({ listed }) => listed)).then(() => {});
  }

  /** Lists again, since more namespaces count than before; resolves when all that can be listed is in the store. */
  async relist(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.relist()));
  }

  /** Drops the objects of a namespace that counts no longer. */
  forget(namespace: string): void {
    this.#emit(this.store.forget(namespace), 'watch');
  }

  /** Ends the watch; resolves when it has ended. */
  async stop(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.stop()));
  }

  /**
   * Has everything of the namespace in the store that the API server has at the time of this call, though its event may be
   * late, or the cache not be filled. Nothing, if the namespace is not watched.
   * @param name only this object
   * @throws KubeError, KubeUnreachableError
   */
  async catchUp(namespace: string, name?: string): Promise<void> {
    const part = this.#partFor(namespace);
    if (part) await this.#catchingUp.run(`${namespace}/${name ?? ''}`, () => part.catchUp(namespace, name));
  }

  /** Stores the response to our own write, so that the next reconcile does not act on an older version. */
  observe(written: KubeObject): void {
    // The reconcile may have outlasted the watch of its namespace.
    if (this.#isWatched(written)) this.#emit(this.store.put(this.#keep(written)), 'own');
  }

  /** Removes an object that this process deleted. */
  observeDelete(deleted: KubeObject): void {
    this.#emit(this.store.remove(deleted), 'own');
  }

  /**
   * Milliseconds since this cache last received anything from the API server, of the namespace that has waited longest;
   * undefined before each has been listed. Namespaces that do not exist or are held back are skipped.
   */
  staleness(now = Date.now()): number | undefined {
    const heard = this.#parts.filter(({ absence }) => !absence).map(({ lastHeard }) => lastHeard);
    if (heard.length === 0) return 0;
    return heard.includes(undefined) ? undefined : now - Math.min(...heard.map((at) => at ?? now));
  }

  /** Why the cache cannot be filled or kept up to date until a person acts. */
  obstacle(): Obstacle | undefined {
    return this.#parts.find(({ obstacle }) => obstacle !== undefined)?.obstacle;
  }

  /** Why the store may lack objects of the namespace that exist; undefined if it has them all. */
  gapIn(namespace: string): string | undefined {
    const unwatched = this.unwatched(namespace);
    const part = this.#partFor(namespace);
    if (unwatched !== undefined || part?.absence === 'missing') return unwatched;
    if (part?.absence) return skipped(namespace, part.absence);
    return part?.obstacle?.message ?? (part?.lastHeard === undefined ? NOT_LISTED : undefined);
  }

  /** Why no cache need have objects of the namespace, whatever exists there; undefined if it is watched. */
  unwatched(namespace: string): string | undefined {
    if (!this.#partFor(namespace)) return `the operator does not watch namespace ${namespace}`;
    return this.#options.isListed?.(namespace) === false ? NOT_LISTED : undefined;
  }

  #partFor(namespace: string): ListWatch | undefined {
    const { isWatched } = this.#options;
    return isWatched?.(namespace) === false ? undefined : this.#parts.find((each) => each.covers(namespace));
  }

  #sink(namespace: string | undefined): ListWatchOptions['sink'] {
    return {
      kept: (listed) => (this.#isKept(listed) ? [this.#keep(listed)] : []),
      // Namespaces may have been removed since the page was read.
      listed: (objects, version) => {
        const watched = objects.filter((object) => this.#isWatched(object));
        this.#emit(this.store.replace(watched, version, namespace), 'watch');
      },
      changed: (object) => {
        if (this.#isKept(object)) this.#emit(this.store.put(this.#keep(object)), 'watch');
      },
      deleted: (object) => {
        if (this.#isKept(object) || this.store.get(keyOf(object))) this.#emit(this.store.remove(object), 'watch');
      },
    };
  }

  #isKept(object: KubeObject): boolean {
    return this.#isWatched(object) && (this.#options.isKept?.(object) ?? true);
  }

  #isWatched({ metadata }: KubeObject): boolean {
    return this.#options.isWatched?.(metadata.namespace ?? '') ?? true;
  }

  #keep(object: KubeObject): KubeObject {
    return (this.#options.transform ?? slim)(object);
  }

  #emit(changes: ObjectChange[], origin: ChangeOrigin): void {
    for (const change of changes) for (const handler of this.#handlers) handler.onChange(change, origin);
  }
}

/**
 * Drops managed fields and the last-applied copy: no controller reads them, and they are most of a small object's size.
 */
export function slim(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return { ...object, metadata };
  const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations;
  return { ...object, metadata: { ...metadata, annotations } };
}
