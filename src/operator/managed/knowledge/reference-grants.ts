/**
 * References into other namespaces, which a ReferenceGrant of the Gateway API in the namespace of the target permits.
 * https://gateway-api.sigs.k8s.io/api-types/referencegrant
 */
import { z } from 'zod';
import { GROUP } from '../../contract/names.ts';
import type { ResourceType } from '../../kube/kube-api.ts';
import type { KubeObject } from '../../kube/kube-object.ts';

export const REFERENCE_GRANTS: ResourceType = {
  group: 'gateway.networking.k8s.io',
  version: 'v1beta1',
  plural: 'referencegrants',
};

const grantSpec = z.object({
  from: z.array(z.object({ group: z.string(), kind: z.string(), namespace: z.string() })),
  to: z.array(z.object({ group: z.string(), kind: z.string(), name: z.string().optional() })),
});

export interface Crossing {
  from: { kind: string; namespace: string };
  to: { kind: string; namespace: string; name: string };
}

/** Whether the grant permits the reference. */
export function permits(grant: KubeObject, { from, to }: Crossing): boolean {
  return grantedTo([grant], from.kind, to).includes(from.namespace);
}

/** The spec of a grant that permits exactly this reference, as written in a manifest. */
function permissionFor({ from, to }: Crossing): string {
  const permitted = `{group: ${GROUP}, kind: ${from.kind}, namespace: ${from.namespace}}`;
  return `spec: {from: [${permitted}], to: [{group: ${GROUP}, kind: ${to.kind}, name: ${to.name}}]}`;
}

/** Why the reference is not permitted, and what would permit it. `gap` says why some grants may be unknown. */
export function notPermitted({ from, to }: Crossing, gap: string | undefined): string {
  const crossing = `references from ${from.kind} in namespace ${from.namespace} to ${to.kind} ${to.name}`;
  if (gap !== undefined) return `no ReferenceGrant in namespace ${to.namespace} is known to permit ${crossing}: ${gap}`;
  const remedy = `have one created there, with ${permissionFor({ from, to })}`;
  return `no ReferenceGrant in namespace ${to.namespace} permits ${crossing}: ${remedy}`;
}

/** The namespaces from which objects of the kind may refer to the target. */
export function grantedTo(grants: readonly KubeObject[], fromKind: string, to: Crossing['to']): string[] {
  return grants.flatMap((grant) => {
    const spec = grantSpec.safeParse(grant.spec).data;
    if (!spec || grant.metadata.namespace !== to.namespace) return [];
    // An empty name in `to` means all objects, like an absent one.
    const isTo = spec.to.some(
      ({ group, kind, name }) => group === GROUP && kind === to.kind && (!name || name === to.name),
    );
    const from = spec.from.filter(({ group, kind }) => group === GROUP && kind === fromKind);
    return isTo ? from.map(({ namespace }) => namespace) : [];
  });
}
