import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { KubeApi } from '../../../../src/operator/kube/kube-api.ts';
import { createKubeMetrics } from '../../../../src/operator/kube/metrics.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { SecretCache, withoutData } from '../../../../src/operator/managed/secrets/secret-cache.ts';
import { sha256Hex } from '../../../../src/resources/formats/sha256.ts';
import { configFor } from '../../kube/answering.ts';
import { object } from '../../objects.ts';

test.each([
  ['every value becomes its digest', { data: { token: encode('t0ken') } }, { token: sha256Hex('t0ken') }],
  ['a Secret without data has no digests', {}, {}],
  ['malformed data has no digests', { data: { token: 1 } }, {}],
])('the cache holds no token: %s', (_, fields, digests) => {
  const kept = withoutData(object({ ...fields, stringData: { token: 't0ken' } }));
  expect(kept.digests).toEqual(digests);
  expect(kept).not.toHaveProperty('data');
  expect(JSON.stringify(kept)).not.toContain('t0ken');
});

const emptyCache = () =>
  new SecretCache(new KubeApi(configFor('http://127.0.0.1:1'), { userAgent: 'tests', timeoutMs: 1_000 }), {
    silenceMs: 60_000,
    log: pino({ level: 'silent' }),
    metrics: createKubeMetrics(new Registry(), 'tests'),
  });

test('the cache knows which Secrets an object owns as they are added, change owners and are deleted', () => {
  const cache = emptyCache();
  expect(cache.get('ns', 'a')).toBeUndefined();
  const owned = (name: string, ...uids: string[]) => {
    const ownerReferences = uids.map((uid) => ({ apiVersion: 'v1', kind: 'Any', name: uid, uid }));
    const made = object();
    return { ...made, metadata: { ...made.metadata, name, ownerReferences } };
  };
  const both = () => [cache.ownedBy('one'), cache.ownedBy('two')];
  cache.onChange({ type: 'added', key: 'ns/a', object: owned('a', 'one') });
  cache.onChange({ type: 'added', key: 'ns/b', object: owned('b', 'one', 'two') });
  expect(both()).toEqual([['a', 'b'], ['b']]);
  cache.onChange({ type: 'updated', key: 'ns/a', previous: owned('a', 'one'), object: owned('a', 'two') });
  expect(both()).toEqual([['b'], ['b', 'a']]);
  cache.onChange({ type: 'deleted', key: 'ns/b', object: owned('b', 'one', 'two') });
  expect(both()).toEqual([[], ['a']]);
  expect(cache.ownedBy('three')).toEqual([]);
});
