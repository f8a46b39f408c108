import { expect, test } from 'vitest';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { withoutData } from '../../../../src/operator/managed/secrets/secret-cache.ts';
import { sha256Hex } from '../../../../src/resources/formats/sha256.ts';
import { object } from '../../objects.ts';

test.each([
  ['every value becomes its digest', { data: { token: encode('t0ken') } }, { token: sha256Hex('t0ken') }],
  ['there may be none', {}, {}],
  ['what is no data is none', { data: { token: 1 } }, {}],
])('the cache holds no token: %s', (_, fields, digests) => {
  const kept = withoutData(object({ ...fields, stringData: { token: 't0ken' } }));
  expect(kept.digests).toEqual(digests);
  expect(kept).not.toHaveProperty('data');
  expect(JSON.stringify(kept)).not.toContain('t0ken');
});
