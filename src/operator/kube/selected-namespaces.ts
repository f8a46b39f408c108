/**
 * The namespaces that match a label selector, now and as they come and go. One that comes is listed by every cache before
 * its objects are reconciled, and one that goes leaves all caches at once: what only some caches have would look as if the
 * rest did not exist.
 */
import type { KubeApi } from './kube-api.ts';
import { NAMESPACES } from './namespace-presence.ts';
import { WatchCache, type WatchCacheOptions } from './watch-cache.ts';

export class SelectedNamespaces {
  readonly watch: WatchCache;
  readonly #log: WatchCacheOptions['log'];
  /** By name; another stay begins when a namespace comes back. */
  readonly #stays = new Map<string, { isListed: boolean }>();

  constructor(api: KubeApi, selector: string, options: Pick<WatchCacheOptions, 'silenceMs' | 'log' | 'metrics'>) {
    this.watch = new WatchCache(api, { ...options, type: NAMESPACES, labelSelector: selector, metadataOnly: true });
    this.#log = options.log;
  }

  readonly isWatched = (namespace: string): boolean => this.watch.store.get(namespace) !== undefined;

  /** Whether all caches have its objects. */
  readonly isListed = (namespace: string): boolean => this.#stays.get(namespace)?.isListed === true;

  /**
   * Resolves once it is known which namespaces match.
   * @param caches those that follow the selection, not started yet
   * @param joined called for each namespace that comes later, once it is listed
   */
  async start(
    caches: readonly Pick<WatchCache, 'relist' | 'forget'>[],
    joined: (namespace: string) => void,
  ): Promise<void> {
    await this.watch.start();
    await this.watch.filled;
    for (const { metadata } of this.watch.store.values()) this.#stays.set(metadata.name, { isListed: true });
    this.watch.addHandler({
      onChange: ({ type, object: { metadata } }) => {
        const namespace = metadata.name;
        if (type === 'updated') return;
        const change = type === 'added' ? 'is watched from now on' : 'is no longer watched';
        this.#log.info({ namespace }, `namespace ${namespace} ${change}`);
        this.#stays.delete(namespace);
        if (type === 'added') void this.#join(namespace, caches, joined);
        else for (const cache of caches) cache.forget(namespace);
      },
    });
  }

  async #join(namespace: string, caches: readonly Pick<WatchCache, 'relist'>[], joined: (namespace: string) => void) {
    const stay = { isListed: false };
    this.#stays.set(namespace, stay);
    await Promise.all(caches.map((cache) => cache.relist()));
    stay.isListed = true;
    if (this.#stays.get(namespace) === stay) joined(namespace);
  }
}
