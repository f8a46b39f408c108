import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { showForbiddenWatches } from '../../../src/operator/kube/forbidden-watches.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';

const cache = (resource: string, kind?: 'forbidden' | 'missing') => ({
  resource,
  obstacle: () => (kind === undefined ? undefined : { kind, message: '' }),
});

test('a resource shows as forbidden while any of its caches is, and for no other reason', async () => {
  const registry = new Registry();
  const metrics = createKubeMetrics(registry, 'ours');
  const shown = async (...caches: ReturnType<typeof cache>[]) => {
    showForbiddenWatches(caches, metrics);
    return (await registry.metrics()).match(/^ours_watch_forbidden{.*/gm);
  };
  expect(await shown(cache('secrets'), cache('secrets', 'forbidden'), cache('policies', 'missing'))).toEqual([
    'ours_watch_forbidden{resource="secrets"} 1',
    'ours_watch_forbidden{resource="policies"} 0',
  ]);
  expect(await shown(cache('secrets'), cache('secrets'), cache('policies', 'forbidden'))).toEqual([
    'ours_watch_forbidden{resource="secrets"} 0',
    'ours_watch_forbidden{resource="policies"} 1',
  ]);
});
