import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createKubeMetrics } from '../../../../src/operator/kube/metrics.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { SecretAccess } from '../../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../../src/operator/managed/secrets/secret-cache.ts';
import { sha256Hex } from '../../../../src/resources/formats/sha256.ts';
import { object } from '../../objects.ts';
import { placing } from '../placing.ts';

test('the cache has every write by the time the call returns', async () => {
  const { kube, namespace } = await placing({ secrets: [] });
  const metrics = createKubeMetrics(new Registry(), 'tests');
  const cache = new SecretCache(kube, { silenceMs: 60_000, log: pino({ enabled: false }), metrics });
  const access = new SecretAccess(kube, cache, () => true);
  const cached = () => access.cached(object({ metadata: { namespace } }), 'written')?.digests;
  const bodyOf = (value: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'written' },
    data: { token: encode(value) },
  });
  await access.create(bodyOf('one'), namespace);
  expect(cached()).toEqual({ token: sha256Hex('one') });
  const written = await access.patch('written', bodyOf('two'), namespace);
  expect(cached()).toEqual({ token: sha256Hex('two') });
  await access.delete(written);
  expect(cached()).toBeUndefined();
});
