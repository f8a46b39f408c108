import { expect, test } from 'vitest';
import { generatePrivateKey } from '../../../src/api/ssh/keys.ts';

test('more RSA keys than may be made and wait at once are refused', async () => {
  const results = await Promise.allSettled(Array.from({ length: 11 }, () => generatePrivateKey('rsa', null)));
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toMatchObject([{ reason: { code: 'UNAVAILABLE' } }]);
});
