import { existsSync } from 'node:fs';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../../dev/control-plane/control-plane.ts';
import type { ControlPlane } from '../../../dev/control-plane/control-plane-handle.ts';
import { isRunning } from '../../../src/postgres/is-running.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../../skip.ts';

// The processes of an external cluster must not be killed.
describe('a dedicated control plane', skipFor(NOT_OUR_CLUSTER), () => {
  let plane: ControlPlane;
  let core: CoreV1Api;

  beforeAll(async () => {
    plane = await startControlPlane({ controllerManager: false, apiServerArgs: ['--watch-cache=false'] });
    const config = new KubeConfig();
    config.loadFromString(plane.kubeconfig);
    core = config.makeApiClient(CoreV1Api);
  });
  afterAll(() => plane.stop());

  it('keeps its objects when the API server is killed and started again on the same port', async () => {
    await core.createNamespace({ body: { metadata: { name: 'kept' } } });
    await plane.killApiServer();
    await expect(core.readNamespace({ name: 'kept' })).rejects.toThrow();
    await plane.startApiServer();
    expect((await core.readNamespace({ name: 'kept' })).metadata?.name).toBe('kept');
    await plane.restartApiServer();
    expect((await core.readNamespace({ name: 'kept' })).metadata?.name).toBe('kept');
  });

  it('does not respond while paused, and responds to pending requests when resumed', async () => {
    plane.pauseApiServer();
    const answer = core.readNamespace({ name: 'kept' });
    const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 300, 'nothing'))]);
    expect(first).toBe('nothing');
    plane.resumeApiServer();
    expect((await answer).metadata?.name).toBe('kept');
  });

  it('leaves no process and no file behind, even when stopped while paused', async () => {
    const stats = await plane.stats();
    expect(stats.map(({ name }) => name)).toEqual(['etcd', 'kube-apiserver']);
    for (const { residentBytes } of stats) expect(residentBytes).toBeGreaterThan(10e6);
    plane.pauseApiServer();
    await plane.stop();
    expect(stats.filter(({ pid }) => isRunning(pid))).toEqual([]);
    expect(existsSync(plane.dataDir ?? '')).toBe(false);
  });
});
