/** What of the Secrets and ConfigMaps in a cluster is asked for, and kept. On the real API server. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../../dev/processes/wait.ts';
import { KubeApi } from '../../../../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../../src/operator/kube/metrics.ts';
import { SourceCache } from '../../../../src/operator/managed/knowledge/source-cache.ts';
import { createNamespace, kubeconfig } from '../../../harness.ts';
import { answering, json } from '../../kube/answering.ts';

const SECRETS = { group: '', version: 'v1', plural: 'secrets' };

/** A cache in which one Secret is used. */
async function start(kube: KubeApi, namespace: string) {
  const cache = new SourceCache(kube, {
    namespaces: [namespace],
    silenceMs: 60_000,
    log: pino({ enabled: false }),
    metrics: createKubeMetrics(new Registry(), 'tests'),
    isUsed: (key) => key === `Secret/${namespace}/used`,
  });
  const watches = cache.watches.map(([, watch]) => watch);
  onTestFinished(() => void Promise.all(watches.map((watch) => watch.stop())));
  await Promise.all(watches.map((watch) => watch.start()));
  return cache;
}

test('of the Secrets that nobody uses, nothing is kept, and of the others no content', async () => {
  const namespace = await createNamespace('sources');
  const kube = new KubeApi(await kubeconfig(), { userAgent: 'tests', timeoutMs: 10_000 });
  onTestFinished(() => kube.close());
  const create = (name: string) =>
    kube.create(SECRETS, { metadata: { name, labels: { a: 'label' } }, stringData: { password: name } }, namespace);
  const created = new Map<string, KubeObject>();
  for (const name of ['used', 'unused', 'other']) created.set(name, await create(name));

  const cache = await start(kube, namespace);
  const [secrets, configMaps] = cache.watches.map(([, { store }]) => [...store.values()]);
  const { uid, resourceVersion, creationTimestamp } = created.get('used')?.metadata ?? {};
  expect(secrets).toEqual([{ metadata: { name: 'used', namespace, uid, resourceVersion, creationTimestamp } }]);
  expect(configMaps).toEqual([]);

  const kept = () => cache.watches.flatMap(([, { store }]) => [...store.values()]);
  await create('later');
  await kube.patch(SECRETS, 'unused', { stringData: { password: 'changed' } }, namespace);
  const changed = await kube.patch(SECRETS, 'used', { stringData: { password: 'changed' } }, namespace);
  const version = () => cache.versionOf({ kind: 'Secret', name: 'used' }, namespace);
  await waitFor('the change', () => version() === changed.metadata.resourceVersion);
  expect(kept().map(({ metadata }) => metadata.name)).toEqual(['used']);
  expect(Object.keys(kept()[0] ?? {})).toEqual(['metadata']);
});

test('only metadata is asked for, by lists and by watches', async () => {
  const empty = json({ metadata: { resourceVersion: '1' }, items: [] });
  const server = await answering((response, asked) => {
    if (!asked.line.includes('watch=true')) return empty(response, asked);
    return response.flushHeaders();
  });
  await start(server.connect(), 'one');
  await waitFor('both watches', () => server.asked.length === 4);
  const asked = server.asked.map(({ line, headers }) => [/\w+(?=\?)/.exec(line)?.[0], headers.accept].join(' '));
  const [list, watch] = ['List', ''].map(
    (what) => `application/json;as=PartialObjectMetadata${what};g=meta.k8s.io;v=v1`,
  );
  expect(asked.toSorted()).toEqual(
    ['configmaps', 'secrets'].flatMap((plural) => [watch, list].map((accept) => `${plural} ${accept}`)).toSorted(),
  );
});
