/** What the chart lets the operator do, from the list of kinds. */
import { GROUP } from '../src/operator/contract/names.ts';
import type { AnyKind } from '../src/operator/managed/kind.ts';

/** The rules of a ClusterRole, as YAML. */
export function clusterRole(kinds: readonly AnyKind[]): string {
  const all = kinds.map(({ plural }) => plural);
  const delivering = kinds.filter(({ delivery }) => delivery !== undefined).map(({ plural }) => plural);
  const list = (names: readonly string[], subresource = '') => names.map((name) => `${name}${subresource}`).join(', ');
  return `# Generated from src/operator/kinds; do not edit. Regenerate: npm run generate
#
# What the operator may do, as the rules of a ClusterRole; bound by a RoleBinding when it watches one namespace only.
# The end-to-end tests run the operator with exactly these.
- apiGroups: [${GROUP}]
  resources: [${list(all)}]
  verbs: [get, list, watch, patch]
- apiGroups: [${GROUP}]
  resources: [${list(all, '/status')}]
  verbs: [patch]
# Secrets name their object as an owner that waits for them, which some clusters (OpenShift) let only those set who may
# change the owner's finalizers.
- apiGroups: [${GROUP}]
  resources: [${list(delivering, '/finalizers')}]
  verbs: [update]
- apiGroups: ['']
  resources: [secrets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: ['']
  resources: [events]
  verbs: [create, patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update]
`;
}
