/** CustomResourceDefinitions of other projects, reduced to what the operator needs. */
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { REFERENCE_GRANTS } from '../../src/operator/managed/knowledge/reference-grants.ts';

export const DNS_ENDPOINTS: ResourceType = {
  group: 'externaldns.k8s.io',
  version: 'v1alpha1',
  plural: 'dnsendpoints',
};

function foreignCrd(kind: string, { group, version, plural }: ResourceType, schema: object = {}) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      // The API server requires this annotation in these groups; any URL will do.
      annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/enhancements/pull/1111' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...schema } },
        },
      ],
    },
  };
}

/** @param schema is added to the schema */
export const dnsEndpointCrd = (schema?: object) => foreignCrd('DNSEndpoint', DNS_ENDPOINTS, schema);
export const referenceGrantCrd = () => foreignCrd('ReferenceGrant', REFERENCE_GRANTS);
