/** Calls on a real API server that are given up, at any moment of the turn of the event loop in which they are sent. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import { LEASES } from '../../../src/operator/kube/leader-election.ts';
import { kubeconfig } from '../../harness.ts';

const MOMENTS = Array.from({ length: 30 }, (_, ticks) => ticks);

/** So many steps of promises later, which are all of one turn. */
async function afterTicks(ticks: number): Promise<void> {
  for (let tick = 0; tick < ticks; tick++) await undefined;
}

test('a call that is given up as it is sent ends by itself, and the process goes on when the client is closed', async () => {
  const api = new KubeApi(await kubeconfig(), { userAgent: 'tests', timeoutMs: 10_000 });
  await api.list(LEASES, {});
  for (const ticks of MOMENTS) {
    const given = new AbortController();
    const call = api.list(LEASES, { signal: given.signal });
    await afterTicks(ticks);
    given.abort(new Error(`given up after ${ticks}`));
    await expect(call).rejects.toThrow(`given up after ${ticks}`);
  }
  expect((await api.list(LEASES, {})).items).toEqual(expect.any(Array));
  await delay(50);
  // What is lost sight of fails now, and nobody would listen: Vitest reports that.
  await api.close();
  await delay(50);
});
