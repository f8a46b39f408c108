import { expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { ipPolicyKind } from '../../../src/operator/kinds/ip-policy.ts';
import { Blocked, StaleObject } from '../../../src/operator/managed/declaration/external.ts';
import { observingAgain } from '../../../src/operator/plan/steady-observation.ts';

const external = ipPolicyKind.external(createClient({ baseUrl: 'http://localhost:1', apiKey: 'x' }));
const remote = { id: 'ipp_1', uri: '' };

/** A resource that changes during the first `times` reads. */
const changing = (times: number, failure: Error = new StaleObject('ipp_1 changed while it was read')) => {
  let left = times;
  return observingAgain({
    ...external,
    async observe() {
      if (left-- > 0) throw failure;
      return remote;
    },
  });
};

test('a resource that changes while it is observed is observed again, up to five times in all', async () => {
  await expect(changing(4).observe('ipp_1')).resolves.toBe(remote);
  const observed = changing(5).observe('ipp_1');
  await expect(observed).rejects.toBeInstanceOf(Blocked);
  await expect(observed).rejects.toThrow('ipp_1 changed while it was read, 5 times in a row: plan again');
  await expect(changing(1, new TypeError('odd')).observe('ipp_1')).rejects.toThrow(TypeError);
});
