import { CoreV1Api } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { cluster, createNamespace, kubeconfig, kubectl } from '../../harness.ts';
import { lacksControllerManager, skipFor } from '../../skip.ts';

const needsControllerManager = skipFor(lacksControllerManager(await cluster()));
const core = (await kubeconfig()).makeApiClient(CoreV1Api);

it('collects a Secret whose owner was a custom resource', needsControllerManager, async () => {
  const namespace = await createNamespace();
  const group = `${namespace}.example.com`;
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      names: { plural: 'widgets', kind: 'Widget' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  const apply = (object: object) => kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  expect(await apply(crd)).toMatchObject({ code: 0 });
  await kubectl(['wait', '--for=condition=Established', `crd/widgets.${group}`, '--timeout=30s']);
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'owner', namespace } };
  await waitFor('the kind to be served', async () => (await apply(widget)).code === 0);
  const uid = (await kubectl(['get', '-n', namespace, 'widget', 'owner', '-o', 'jsonpath={.metadata.uid}'])).stdout;
  const ownerReferences = [{ apiVersion: `${group}/v1`, kind: 'Widget', name: 'owner', uid }];
  await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'owned', ownerReferences } } });
  expect(await kubectl(['delete', '-n', namespace, 'widget', 'owner'])).toMatchObject({ code: 0 });
  // The collector looks for new kinds every 30 s: too long for the tests that run always.
  await waitFor(
    'the Secret to be collected',
    async () => (await kubectl(['get', '-n', namespace, 'secret', 'owned'])).code === 1,
    { timeoutMs: 55_000, intervalMs: 250 },
  );
  await kubectl(['delete', 'crd', `widgets.${group}`]);
});
