/** CustomResourceDefinitions of other projects, with as much as the operator needs. */
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';

/** @param schema beside what accepts everything */
export function foreignCrd({ group, version, plural }: ResourceType, kind: string, schema: object = {}) {
  const accepting = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/enhancements/pull/1111' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        { name: version, served: true, storage: true, schema: { openAPIV3Schema: { ...accepting, ...schema } } },
      ],
    },
  };
}
