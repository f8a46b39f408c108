/** Shows in the metrics which resources the operator is not permitted to list or watch. */
import type { KubeMetrics } from './metrics.ts';
import type { WatchCache } from './watch-cache.ts';

type Watched = Pick<WatchCache, 'resource' | 'obstacle'>;

/** @param caches of one resource there may be several, such as that of all Secrets and that of their metadata */
export function showForbiddenWatches(
  caches: readonly Watched[],
  { watchForbidden }: Pick<KubeMetrics, 'watchForbidden'>,
): void {
  for (const [resource, ofIt] of Map.groupBy(caches, ({ resource }) => resource)) {
    const isForbidden = ofIt.some((cache) => cache.obstacle()?.kind === 'forbidden');
    watchForbidden.set({ resource }, isForbidden ? 1 : 0);
  }
}
