/** Kinds for tests: the API server takes whatever fields their objects have, and no operator looks after them. */
import { waitFor } from '../../../dev/processes/wait.ts';
import type { KubeApi, ResourceType } from '../../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';

export const TEST_GROUP = { group: 'tests.tunnel-operator.dev', version: 'v1alpha1' };
const CRDS: ResourceType = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

/** Has the API server serve the kind. It stays: other test files use it at the same time. */
export async function serveTestKind(kube: KubeApi, kind: string, plural: string, namespace: string): Promise<void> {
  const { group, version } = TEST_GROUP;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const spec = {
    group,
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase() },
    versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
  };
  try {
    await kube.create(CRDS, { metadata: { name: `${plural}.${group}` }, spec });
  } catch (error) {
    if (!(error instanceof KubeError && error.isConflict)) throw error;
  }
  const isFatal = (error: unknown) => !(error instanceof KubeError && (error.isNotFound || error.isThrottled));
  const listed = () => kube.list({ ...TEST_GROUP, plural }, { namespace });
  await waitFor(`${plural} to be served`, listed, { isFatal, intervalMs: 20 });
}
