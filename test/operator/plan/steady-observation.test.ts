import { describe, expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { ipPolicyKind } from '../../../src/operator/kinds/ip-policy.ts';
import { Blocked, StaleObject } from '../../../src/operator/managed/declaration/external.ts';
import { observingAgain } from '../../../src/operator/plan/steady-observation.ts';

const external = ipPolicyKind.external(createClient({ baseUrl: 'http://localhost:1', apiKey: 'x' }));
const remote = { id: 'ipp_1', uri: '' };

/** What changes while it is read, so many times. */
function changing(times: number, onRead = () => {}) {
  let left = times;
  return observingAgain({
    ...external,
    async observe(id) {
      onRead();
      left -= 1;
      if (left >= 0) throw new StaleObject(`${id} changed while it was read`);
      return remote;
    },
  });
}

describe('what is observed', () => {
  test('is observed again if it changed meanwhile', async () => {
    await expect(changing(0).observe('ipp_1')).resolves.toBe(remote);
    await expect(changing(4).observe('ipp_1')).resolves.toBe(remote);
  });

  test('blocks only its object if it never holds still', async () => {
    let reads = 0;
    const observed = changing(Number.POSITIVE_INFINITY, () => (reads += 1)).observe('ipp_1');
    await expect(observed).rejects.toBeInstanceOf(Blocked);
    await expect(observed).rejects.toThrow('ipp_1 changed while it was read, 5 times in a row: plan again');
    expect(reads).toBe(5);
  });

  test('fails for another reason at once', async () => {
    const failing = observingAgain({ ...external, observe: () => Promise.reject(new TypeError('odd')) });
    await expect(failing.observe('ipp_1')).rejects.toThrow(TypeError);
  });
});
