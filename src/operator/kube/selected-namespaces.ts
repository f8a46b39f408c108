/** The namespaces that match a label selector, now and as they come and go. */
import type { KubeApi } from './kube-api.ts';
import { NAMESPACES } from './namespace-presence.ts';
import { WatchCache, type WatchCacheOptions } from './watch-cache.ts';

export class SelectedNamespaces {
  readonly watch: WatchCache;
  readonly #log: WatchCacheOptions['log'];

  constructor(api: KubeApi, selector: string, options: Pick<WatchCacheOptions, 'silenceMs' | 'log' | 'metrics'>) {
    this.watch = new WatchCache(api, { ...options, type: NAMESPACES, labelSelector: selector, metadataOnly: true });
    this.#log = options.log;
  }

  readonly isWatched = (namespace: string): boolean => this.watch.store.get(namespace) !== undefined;

  /**
   * Resolves once it is known which namespaces match.
   * @param relist called whenever others do
   */
  async start(relist: () => void): Promise<void> {
    await this.watch.start();
    await this.watch.filled;
    this.watch.addHandler({
      onChange: ({ type, object }) => {
        if (type === 'updated') return;
        const change = type === 'added' ? 'is watched from now on' : 'is no longer watched';
        this.#log.info({ namespace: object.metadata.name }, `namespace ${object.metadata.name} ${change}`);
        relist();
      },
    });
  }
}
