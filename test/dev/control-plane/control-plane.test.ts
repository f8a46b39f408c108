import { AuthenticationV1Api, CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { cluster, createNamespace, kubeconfig, kubectl } from '../../harness.ts';
import { lacksControllerManager, skipFor } from '../../skip.ts';

const needsControllerManager = skipFor(lacksControllerManager(await cluster()));
const admin = await kubeconfig();
const core = admin.makeApiClient(CoreV1Api);

describe('the shared control plane', () => {
  it('serves kubectl', async () => {
    const result = await kubectl(['get', 'namespace', 'kube-system', '-o', 'name']);
    expect(result).toMatchObject({ code: 0, stdout: 'namespace/kube-system\n' });
  });

  it('reports a failure of kubectl as a result', async () => {
    const result = await kubectl(['get', 'configmap', 'no-such-thing']);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('NotFound');
  });

  it('takes manifests from standard input', async () => {
    const namespace = await createNamespace();
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace }, data: { a: 'b' } };
    const result = await kubectl(['apply', '-f', '-'], { input: JSON.stringify(manifest) });
    expect(result).toMatchObject({ code: 0, stdout: 'configmap/one created\n' });
  });

  it('enforces RBAC on the token of a service account', async () => {
    const namespace = await createNamespace();
    await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name: 'reader' } } });
    const { status } = await core.createNamespacedServiceAccountToken({
      namespace,
      name: 'reader',
      body: { spec: { audiences: [] } },
    });
    const reader = asToken(status?.token ?? '');

    const review = await reader.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
    expect(review.status?.userInfo?.username).toBe(`system:serviceaccount:${namespace}:reader`);
    const refused = reader.makeApiClient(CoreV1Api).listNamespacedSecret({ namespace });
    await expect(refused).rejects.toMatchObject({ code: 403 });
  });

  it('collects a Secret whose owner is gone', needsControllerManager, async () => {
    const namespace = await createNamespace();
    const owner = await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'owner' } } });
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata?.uid ?? '' }];
    await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'owned', ownerReferences } } });
    await core.deleteNamespacedConfigMap({ namespace, name: 'owner' });
    await waitFor('the Secret to be collected', async () => {
      const { items } = await core.listNamespacedSecret({ namespace });
      return !items.some(({ metadata }) => metadata?.name === 'owned');
    });
  });

  it('gives a namespace its service account and root certificate, and deletes it', needsControllerManager, async () => {
    const namespace = await createNamespace();
    await waitFor('the root certificate', async () => {
      const found = await core.readNamespacedConfigMap({ namespace, name: 'kube-root-ca.crt' });
      return found.data?.['ca.crt']?.includes('BEGIN CERTIFICATE');
    });
    await waitFor('the service account', () => core.readNamespacedServiceAccount({ namespace, name: 'default' }));
    await core.deleteNamespace({ name: namespace });
    await waitFor('the namespace to be gone', async () => {
      const { items } = await core.listNamespace();
      return !items.some(({ metadata }) => metadata?.name === namespace);
    });
  });
});

/** The same cluster, as the bearer of a token. */
function asToken(token: string): KubeConfig {
  const config = new KubeConfig();
  const current = admin.getCurrentCluster();
  if (current === null) throw new Error('the kubeconfig has no current cluster');
  config.loadFromClusterAndUser(current, { name: 'bearer', token });
  return config;
}
