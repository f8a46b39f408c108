/** `TLSEdgeModules`: who may connect to a TLS edge, and which backend serves the connections. */
import { tlsEdge } from '../../resources/tls-edge.ts';
import { tlsEdgeBackend, tlsEdgeIpRestriction, tlsEdgeMutualTls } from '../../resources/tls-edge-modules.ts';
import { attachedKind } from './attached-kind.ts';

export const tlsEdgeModulesKind = attachedKind(tlsEdge, {
  kind: 'TLSEdgeModules',
  shortNames: ['tedgemod'],
  description: 'The modules of one TLS edge: who may connect, and which backend serves the connections.',
  ownerRef: 'tlsEdgeRef',
  owners: (client) => client.tlsEdges,
  modules: [
    { module: tlsEdgeIpRestriction, calls: (client, edgeId) => client.tlsEdgeModules(edgeId).ipRestriction },
    { module: tlsEdgeMutualTls, calls: (client, edgeId) => client.tlsEdgeModules(edgeId).mutualTls },
    { module: tlsEdgeBackend, calls: (client, edgeId) => client.tlsEdgeModules(edgeId).backend },
  ],
});
