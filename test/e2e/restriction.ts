/** The simplest module: TLS edges that only some addresses may use, as objects declare it and as the API has it. */
import type { Client } from '../../src/client/client.ts';
import { ifThere } from './if-there.ts';
import { type Manifest, manifest, ours } from './stack.ts';

export const EDGE_MODULES = ours('tlsedgemodules');

/** A TLSEdgeModules that restricts an edge by these policies. All are named by their ids. */
export const restricting = (name: string, edgeId: string, policyIds: readonly string[], more: object = {}): Manifest =>
  manifest({ name: 'TLSEdgeModules' }, name, {
    tlsEdgeRef: { id: edgeId },
    ipRestriction: { ipPolicyRefs: policyIds.map((id) => ({ id })) },
    ...more,
  });

/** Whether the edge has the module. */
export async function isRestricted(client: Client, edgeId: string): Promise<boolean> {
  return (await ifThere(client.tlsEdgeModules(edgeId).ipRestriction.get())) !== undefined;
}
