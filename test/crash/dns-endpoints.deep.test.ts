/** The operator is killed at every call while it looks after objects of other projects, on a cluster that has their kinds. */
import { afterAll, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import type { ControlPlane } from '../../dev/control-plane/control-plane-handle.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { publications } from './dns-endpoints.ts';
import { chain, check, told } from './kill-points.ts';
import type { Stage } from './stage.ts';

describe('the operator survives being killed at every call', {
  timeout: 1_200_000,
  ...skipFor(NOT_OUR_CLUSTER),
}, () => {
  let plane: ControlPlane | undefined;
  let stage: Promise<Stage> | undefined;
  afterAll(async () => {
    await (await stage)?.close();
    await plane?.stop();
  });

  it.for(publications)('while it $name', async (scenario, { annotate }) => {
    plane ??= await startControlPlane({ controllerManager: false });
    stage ??= chain({ cluster: plane, hasDnsEndpoints: true });
    const report = await check([await stage], scenario, { isExact: true });
    const { failures, killed, missed, points } = report;
    await annotate(told(report));
    expect(failures).toEqual([]);
    expect(killed.length).toBeGreaterThanOrEqual(points.length / 2);
    expect(missed).toEqual([]);
  });
});
