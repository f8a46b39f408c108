/** Another cluster whose operator uses the API of a stack. Only for test files. */
import { KubeConfig } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { z } from 'zod';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { KubeApi, type ResourceType } from '../../src/operator/kube/kube-api.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import type { OperatorConfig } from '../../src/operator/settings.ts';
import { atEnd } from '../end-of-file.ts';
import { kubectlOn } from '../kubectl.ts';
import { eventually, ROOT, type Stack } from './stack.ts';

const NAMESPACE = 'default';

const list = z.object({
  items: z.array(
    z.looseObject({ metadata: z.looseObject({ name: z.string(), annotations: z.record(z.string(), z.string()) }) }),
  ),
});

/** Settings of an operator in the second cluster, and what its users do there. */
export async function startSecondCluster(stack: Stack) {
  const plane = await startControlPlane({ controllerManager: false });
  atEnd(() => plane.stop());
  const config = new KubeConfig();
  config.loadFromString(plane.kubeconfig);
  const kube = new KubeApi(config, { userAgent: 'tests', timeoutMs: 30_000 });
  atEnd(() => kube.close());
  const run = async (args: string[], input?: object) => {
    const options = input === undefined ? {} : { input: JSON.stringify(input) };
    const result = await kubectlOn(plane, ['-n', NAMESPACE, ...args], options);
    expect(result, args.join(' ')).toMatchObject({ code: 0 });
    return result.stdout;
  };
  await run(['apply', '--server-side', '-f', `${ROOT}crds/tunnel-operator.dev_*.yaml`]);
  await run(['wait', '--for=condition=Established', '-f', `${ROOT}crds/tunnel-operator.dev_*.yaml`]);
  const settings: Partial<OperatorConfig> = {
    kubeconfig: plane.kubeconfigPath,
    namespaces: [NAMESPACE],
    leaseNamespace: NAMESPACE,
  };
  const apply = (...items: object[]) => run(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
  const see = async (type: ResourceType, name: string) => {
    const object = await kube.get(type, name, NAMESPACE);
    const status = readStatus(object);
    return { object, status, ready: findCondition(status.conditions ?? [], 'Ready') };
  };
  return {
    namespace: NAMESPACE,
    settings,
    kube,
    apply,
    see,
    async id(): Promise<string> {
      return (await kube.get({ group: '', version: 'v1', plural: 'namespaces' }, 'kube-system')).metadata.uid;
    },
    /** Creates what the stack's namespace has, as a restore from a backup does: without UIDs and status. */
    async copy(): Promise<void> {
      // The category is served a moment after the kinds are.
      const { items } = await eventually(async () => {
        const { stdout, stderr } = await stack.run('get', 'tunnels', '-o', 'json');
        expect(stderr).toBe('');
        return list.parse(JSON.parse(stdout));
      });
      await apply(
        ...items.map(({ metadata: { name, annotations }, status: _, ...rest }) => {
          const { 'kubectl.kubernetes.io/last-applied-configuration': __, ...kept } = annotations;
          return { ...rest, metadata: { name, annotations: kept } };
        }),
      );
    },
    /** Waits until the condition Ready of the object has the reason. */
    reason: (type: ResourceType, name: string, reason: string) =>
      eventually(async () => {
        const seen = await see(type, name);
        expect(seen.ready, seen.ready?.message).toMatchObject({ reason });
        return seen;
      }),
    annotate: (type: ResourceType, name: string, annotations: Record<string, string | null>) =>
      kube.patch(type, name, { metadata: { annotations } }, NAMESPACE),
    /** Deletes all objects, and waits until they are gone. */
    clear: () => eventually(() => run(['delete', 'tunnels', '--all', '--timeout=20s'])),
  };
}
