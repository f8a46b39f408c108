/** The permissions that the chart grants to the operator, from the list of kinds. */
import { GROUP } from '../src/operator/contract/names.ts';
import type { CustomResource } from '../src/operator/crds/crd.ts';
import type { AnyKind } from '../src/operator/managed/declaration/kind.ts';

/** The rules of a ClusterRole, as YAML. */
export function clusterRole(kinds: readonly AnyKind[], others: readonly CustomResource[]): string {
  const all = [...kinds, ...others].map(({ plural }) => plural);
  const owning = kinds.filter(({ delivery, dnsRecords }) => delivery ?? dnsRecords).map(({ plural }) => plural);
  const list = (names: readonly string[], subresource = '') => names.map((name) => `${name}${subresource}`).join(', ');
  return `# Generated from src/operator/kinds; do not edit. Regenerate: npm run generate
#
# The operator's permissions on the objects that it watches, as rules of a ClusterRole, or of a Role in each namespace if it
# watches only some (setting --namespace). Those for leader election are in lease-role.yaml.
# The end-to-end tests run the operator with exactly these permissions.
- apiGroups: [${GROUP}]
  resources: [${list(all)}]
  verbs: [get, list, watch, patch]
- apiGroups: [${GROUP}]
  resources: [${list(all, '/status')}]
  verbs: [update]
# Secrets and DNSEndpoints have blockOwnerDeletion set in their owner reference. Some clusters (OpenShift) allow that only with the
# right to update the owner's finalizers.
- apiGroups: [${GROUP}]
  resources: [${list(owning, '/finalizers')}]
  verbs: [update]
- apiGroups: ['']
  resources: [secrets]
  verbs: [get, list, watch, create, patch, delete]
# Text for specs. They are watched as metadata only.
- apiGroups: ['']
  resources: [configmaps]
  verbs: [get, list, watch]
# References into other namespaces.
- apiGroups: [gateway.networking.k8s.io]
  resources: [referencegrants]
  verbs: [list, watch]
# The DNS records of a ReservedDomain with spec.dns.publish.
- apiGroups: [externaldns.k8s.io]
  resources: [dnsendpoints]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: ['']
  resources: [events]
  verbs: [create, patch]
`;
}

/** What only an operator that may work in all namespaces watches. */
export function clusterScopedRole(kinds: readonly CustomResource[]): string {
  const names = kinds.filter(({ isClusterScoped }) => isClusterScoped).map(({ plural }) => plural);
  return `# Generated from src/operator/connections; do not edit. Regenerate: npm run generate
- apiGroups: [${GROUP}]
  resources: [${names.join(', ')}]
  verbs: [get, list, watch, patch]
- apiGroups: [${GROUP}]
  resources: [${names.map((name) => `${name}/status`).join(', ')}]
  verbs: [update]
# Which namespaces exist, and their labels.
- apiGroups: ['']
  resources: [namespaces]
  verbs: [get, list, watch]
`;
}

/** What leader election needs in the operator's own namespace. */
export function leaseRole(): string {
  return `# Generated from scripts/cluster-role.ts; do not edit. Regenerate: npm run generate
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update]
`;
}

/**
 * The rights of a namespace's editors. Writing an APIKey is excluded, since it issues keys to the API, and what only
 * administrators of the operator declare.
 */
export function editRole(kinds: readonly CustomResource[]): string {
  const theirs = kinds.filter(
    ({ plural, isClusterScoped, isAdministrative }) => plural !== 'apikeys' && !isClusterScoped && !isAdministrative,
  );
  return roleOf(theirs, ['create', 'update', 'patch', 'delete', 'deletecollection']);
}

/** The rights of a namespace's viewers. */
export function viewRole(kinds: readonly CustomResource[]): string {
  return roleOf(kinds, ['get', 'list', 'watch']);
}

/** The rights of an uninstall that deletes all objects. */
export function uninstallRole(kinds: readonly CustomResource[]): string {
  return roleOf(kinds, ['list', 'delete']);
}

/** Names every kind, since some clusters reject rules with an asterisk. */
function roleOf(kinds: readonly CustomResource[], verbs: readonly string[]): string {
  return `# Generated from src/operator/kinds; do not edit. Regenerate: npm run generate
- apiGroups: [${GROUP}]
  resources: [${kinds.map(({ plural }) => plural).join(', ')}]
  verbs: [${verbs.join(', ')}]
`;
}
