import { createRequire } from 'node:module';
import { Registry } from 'prom-client';
import { expect, test, vi } from 'vitest';
import { collectProcessMetrics, showBuild } from '../src/process-metrics.ts';

test('process metrics read no list that can end the process', async () => {
  const registry = new Registry();
  const unsafe = ['_getActiveHandles', '_getActiveRequests'].map((name) => vi.spyOn(process as never, name as never));
  collectProcessMetrics(registry);
  const text = await registry.metrics();
  for (const list of unsafe) expect(list).not.toHaveBeenCalled();
  expect(text).toContain('nodejs_active_resources_total');
  expect(text).not.toContain('nodejs_active_handles');
  expect(text).not.toContain('nodejs_active_requests');
});

test('a metric shows which version, commit and Node.js run', async () => {
  const registry = new Registry();
  showBuild(registry, 'tunnel_api');
  const { version } = createRequire(import.meta.url)('../package.json');
  const [, node] = /^v(.*)/.exec(process.version) ?? [];
  expect(await registry.metrics()).toContain(
    `tunnel_api_build_info{version="${version}",commit="unknown",node_version="${node}"} 1`,
  );
});
