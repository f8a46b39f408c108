/** Texts from Secrets and ConfigMaps, and which parts of those objects are requested and kept. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../../../dev/processes/wait.ts';
import type { KubeApi } from '../../../../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../../src/operator/kube/metrics.ts';
import { Source } from '../../../../src/operator/managed/declaration/input.ts';
import { SourceCache, textIn } from '../../../../src/operator/managed/knowledge/source-cache.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { answering, json } from '../../kube/answering.ts';
import { object } from '../../objects.ts';
import { NAMESPACE, placing } from '../placing.ts';

const source = (kind: Source['kind'], key = 'k', name = 'app') => new Source({ kind, name, key }, z.string());
const app = (fields: Parameters<typeof object>[0]) => object({ name: 'app', ...fields });
const by = 'APIKey/ns/a' as const;

test.each<[string, Source, Partial<KubeObject>, string]>([
  ['of a ConfigMap', source('ConfigMap'), { data: { k: 'text', other: 'x' }, binaryData: { k: 'eA==' } }, 'text'],
  ['of a Secret is decoded', source('Secret'), { data: { k: encode('\ufefftëxt') } }, '\ufefftëxt'],
  ['may be empty', source('Secret'), { data: { k: '' } }, ''],
])('the text of a source %s', (_, from, fields, expected) => {
  expect(textIn(app(fields), from, 'spec.a')).toBe(expected);
});

const noKey = 'spec.a: ConfigMap ns/app has no key "k"';
const latin1 = { k: Buffer.from([0xff]).toString('base64') };
test.each<[string, Source, Partial<KubeObject>, string, string]>([
  ['has no data', source('ConfigMap'), {}, 'SourceNotFound', noKey],
  ['has other keys', source('ConfigMap'), { data: { x: 'a' }, binaryData: { y: 'eA==' } }, 'SourceNotFound', noKey],
  ['inherits the key', source('ConfigMap', 'constructor'), { data: {} }, 'SourceNotFound', 'no key "constructor"'],
  ['is binary', source('ConfigMap'), { binaryData: { k: 'eA==' } }, 'SourceInvalid', 'has the key "k" in its binary'],
  ['has malformed binary data', source('ConfigMap'), { binaryData: { k: 1 } }, 'SourceNotFound', noKey],
  ['has no text', source('Secret'), { data: latin1 }, 'SourceInvalid', '"k" in Secret ns/app is not UTF-8 text'],
])('there is no text if the object %s', (_, from, fields, reason, message) => {
  const says = expect.objectContaining({ reason, message: expect.stringContaining(message) });
  expect(() => textIn(app(fields), from, 'spec.a')).toThrow(says);
});

function cacheOf(kube: KubeApi, isUsed: (key: string) => boolean = () => true) {
  const metrics = createKubeMetrics(new Registry(), 'tests');
  const log = pino({ enabled: false });
  return new SourceCache(kube, { namespaces: [NAMESPACE], silenceMs: 60_000, log, metrics, isUsed });
}

describe('a reader of sources', () => {
  async function reading() {
    const secret = app({ data: { k: encode('one'), l: encode('two') } });
    const configMap = app({ data: { k: 'three' } });
    const cluster = await placing({ secrets: [secret], configmaps: [configMap] });
    const [ofSecret, ofConfigMap] = [secret, configMap].map((each) => cluster.known(each).metadata.resourceVersion);
    return { cluster, cache: cacheOf(cluster.kube), ofSecret, ofConfigMap };
  }

  test('reads each object once, and reports a missing one', async () => {
    const { cluster, cache, ofSecret, ofConfigMap } = await reading();
    const read = cache.reader(NAMESPACE, by);
    expect(await read(source('Secret'), 'spec.a')).toEqual({ text: 'one', resourceVersion: ofSecret });
    expect(await read(source('Secret', 'l'), 'spec.b')).toEqual({ text: 'two', resourceVersion: ofSecret });
    expect(await read(source('ConfigMap'), 'spec.c')).toEqual({ text: 'three', resourceVersion: ofConfigMap });
    expect(cluster.asked()).toHaveLength(2);
    await cache.reader(NAMESPACE, by)(source('Secret'), 'spec.a');
    expect(cluster.asked()).toHaveLength(3);
    await expect(read(source('Secret', 'k', 'none'), 'spec.a')).rejects.toMatchObject({
      reason: 'SourceNotFound',
      message: `spec.a: Secret ${NAMESPACE}/none does not exist: create it, or name another`,
    });
  });

  test('reports changes of the objects that it reads, with the object that it reads them for', async () => {
    const { cache, ofSecret } = await reading();
    const told: unknown[] = [];
    for (const [kind, watch] of cache.watches) watch.addHandler({ onChange: () => told.push([kind, cache.readBy]) });
    expect(cache.versionOf(source('Secret'), NAMESPACE)).toBeUndefined();
    await cache.reader(NAMESPACE, by)(source('Secret'), 'spec.a');
    expect([told, cache.readBy]).toEqual([[['Secret', by]], undefined]);
    expect(cache.versionOf(source('Secret'), NAMESPACE)).toBe(ofSecret);
    expect(cache.versionOf(source('ConfigMap'), NAMESPACE)).toBeUndefined();
  });
});

async function start(cache: SourceCache) {
  const watches = cache.watches.map(([, watch]) => watch);
  onTestFinished(() => void Promise.all(watches.map((watch) => watch.stop())));
  await Promise.all(watches.map((watch) => watch.start()));
  return () => watches.flatMap(({ store }) => [...store.values()]);
}

test('the metadata of used Secrets is kept and followed; of others, nothing is kept', async () => {
  const data = { password: encode('x') };
  const secrets = ['used', 'unused'].map((name) => object({ name, data, metadata: { labels: { a: 'label' } } }));
  const { kube, known, change } = await placing({ secrets, configmaps: [app({ data: { k: 'x' } })] });
  const cache = cacheOf(kube, (key) => key === `Secret/${NAMESPACE}/used`);
  const kept = await start(cache);
  const { uid, resourceVersion } = known(secrets[0] ?? object()).metadata;
  const metadata = { name: 'used', namespace: NAMESPACE, uid, resourceVersion, creationTimestamp: expect.any(String) };
  expect(kept()).toEqual([{ metadata }]);
  await change('secrets', 'unused', { data: { password: encode('y') } });
  const changed = await change('secrets', 'used', { data: { password: encode('y') } });
  const version = () => cache.versionOf({ kind: 'Secret', name: 'used' }, NAMESPACE);
  await waitFor('the change', () => version() === changed.metadata.resourceVersion);
  expect(kept()).toEqual([{ metadata: { ...metadata, resourceVersion: changed.metadata.resourceVersion } }]);
});

test('lists and watches request only metadata', async () => {
  const empty = json({ metadata: { resourceVersion: '1' }, items: [] });
  const server = await answering((response, asked) => {
    if (!asked.line.includes('watch=true')) return empty(response, asked);
    return response.flushHeaders();
  });
  await start(cacheOf(server.connect()));
  await waitFor('both watches', () => server.asked.length === 4);
  expect(server.asked.every(({ headers }) => headers.accept?.includes('as=PartialObjectMetadata'))).toBe(true);
});
