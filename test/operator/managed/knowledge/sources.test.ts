/** Texts from Secrets and ConfigMaps, and what is kept of them; source-cache.test.ts has that on a real API server. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { KubeApi } from '../../../../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../../src/operator/kube/metrics.ts';
import { Source } from '../../../../src/operator/managed/declaration/input.ts';
import { SourceCache, textIn } from '../../../../src/operator/managed/knowledge/source-cache.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { answering, json } from '../../kube/answering.ts';
import { object } from '../../objects.ts';
import { NAMESPACE, placing } from '../placing.ts';

const source = (kind: Source['kind'], key = 'k') => new Source({ kind, name: 'app', key }, z.string());
const app = (fields: Parameters<typeof object>[0]) => object({ name: 'app', ...fields });
const by = 'APIKey/ns/a' as const;

describe('the text of a source', () => {
  test.each<[string, Source, Partial<KubeObject>, string]>([
    ['of a ConfigMap is what it says', source('ConfigMap'), { data: { k: 'text' } }, 'text'],
    ['of a Secret is decoded', source('Secret'), { data: { k: encode('tëxt') } }, 'tëxt'],
    ['of a Secret keeps its byte order mark', source('Secret'), { data: { k: encode('\ufefft') } }, '\ufefft'],
    ['may be empty', source('Secret'), { data: { k: '' } }, ''],
    ['is that of its key', source('ConfigMap'), { data: { k: 'text', other: 'x' }, binaryData: { b: 'eA==' } }, 'text'],
    ['counts before the bytes of the same key', source('ConfigMap'), { data: { k: 'a' }, binaryData: { k: 'b' } }, 'a'],
  ])('%s', (_, from, fields, expected) => {
    expect(textIn(app(fields), from, 'spec.a')).toBe(expected);
  });

  const noKey = 'spec.a: ConfigMap ns/app has no key "k": add it there, or name another';
  const bytes =
    'spec.a: ConfigMap ns/app has the key "k" in its binaryData, which is for bytes: put the text into its data';
  test.each<[string, Source, Partial<KubeObject>, string, string]>([
    ['has no data', source('ConfigMap'), {}, 'SourceNotFound', noKey],
    ['has other keys', source('ConfigMap'), { data: { x: 'a' }, binaryData: { y: 'eA==' } }, 'SourceNotFound', noKey],
    [
      'has no such key of its own',
      source('ConfigMap', 'constructor'),
      { data: {} },
      'SourceNotFound',
      'has no key "con',
    ],
    ['has bytes under that key', source('ConfigMap'), { binaryData: { k: 'eA==' } }, 'SourceInvalid', bytes],
    ['has malformed bytes', source('ConfigMap'), { binaryData: { k: 1 } }, 'SourceNotFound', noKey],
    [
      'has no text there',
      source('Secret'),
      { data: { k: Buffer.from([0xff]).toString('base64') } },
      'SourceInvalid',
      'spec.a: the value of "k" in Secret ns/app is not UTF-8 text: put text there, or name another key',
    ],
  ])('is missing where the object %s', (_, from, fields, reason, message) => {
    const reading = () => textIn(app(fields), from, 'spec.a');
    expect(reading).toThrow(message);
    expect(reading).toThrow(expect.objectContaining({ reason }));
  });
});

function cacheOf(kube: KubeApi, isUsed: (key: string) => boolean = () => true) {
  const metrics = createKubeMetrics(new Registry(), 'tests');
  const log = pino({ enabled: false });
  return new SourceCache(kube, { namespaces: ['ns'], silenceMs: 60_000, log, metrics, isUsed });
}

describe('a reader of sources', () => {
  async function reading() {
    const secret = app({ data: { k: encode('one'), l: encode('two') } });
    const configMap = app({ data: { k: 'three' } });
    const cluster = await placing({ secrets: [secret], configmaps: [configMap] });
    const [ofSecret, ofConfigMap] = [secret, configMap].map((each) => cluster.known(each).metadata.resourceVersion);
    return { cluster, cache: cacheOf(cluster.kube), ofSecret, ofConfigMap };
  }

  test('reads each object once, however many of its keys are asked for', async () => {
    const { cluster, cache, ofSecret, ofConfigMap } = await reading();
    const read = cache.reader(NAMESPACE, by);
    expect(await read(source('Secret'), 'spec.a')).toEqual({ text: 'one', resourceVersion: ofSecret });
    expect(await read(source('Secret', 'l'), 'spec.b')).toEqual({ text: 'two', resourceVersion: ofSecret });
    expect(await read(source('ConfigMap'), 'spec.c')).toEqual({ text: 'three', resourceVersion: ofConfigMap });
    const path = `/api/v1/namespaces/${NAMESPACE}`;
    expect(cluster.asked()).toEqual([`GET ${path}/secrets/app`, `GET ${path}/configmaps/app`]);
    await cache.reader(NAMESPACE, by)(source('Secret'), 'spec.a');
    expect(cluster.asked()).toHaveLength(3);
  });

  test('says which object is missing', async () => {
    const { cache } = await reading();
    const none = new Source({ kind: 'Secret', name: 'none', key: 'k' }, z.string());
    await expect(cache.reader(NAMESPACE, by)(none, 'spec.a')).rejects.toMatchObject({
      reason: 'SourceNotFound',
      message: `spec.a: Secret ${NAMESPACE}/none does not exist: create it, or name another`,
    });
  });

  test('lets changes of what it has read be noticed, but for those that it tells of itself', async () => {
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

test('of sources, the metadata of those that are used is kept', async () => {
  const listed = ['used', 'unused'].map((name) => object({ name, data: { k: encode('x') }, metadata: { labels: {} } }));
  const server = await answering((response, asked) => {
    const items = asked.line.includes('/secrets') ? listed : [];
    if (!asked.line.includes('watch=true')) json({ metadata: { resourceVersion: '9' }, items })(response, asked);
  });
  const cache = cacheOf(server.connect(), (key) => key === 'Secret/ns/used');
  const watches = cache.watches.map(([, watch]) => watch);
  onTestFinished(() => void Promise.all(watches.map((watch) => watch.stop())));
  await Promise.all(watches.map((watch) => watch.start()));
  const [kept] = watches.map(({ store }) => [...store.values()]);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object({ name: 'used' }).metadata;
  expect(kept).toEqual([{ metadata: { name, namespace, uid, resourceVersion, creationTimestamp } }]);
  expect(server.asked.every(({ headers }) => headers.accept?.includes('as=PartialObjectMetadata'))).toBe(true);
});
