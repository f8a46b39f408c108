/** `TLSEdgeModules`: who may connect to a TLS edge, and which backend serves the connections. */
import { tlsEdgeBackend, tlsEdgeIpRestriction, tlsEdgeMutualTls } from '../../resources/tls-edge-modules.ts';
import { attachedKind } from './attached-kind.ts';
import { tlsEdgeKind } from './tls-edge.ts';

export const tlsEdgeModulesKind = attachedKind(tlsEdgeKind, {
  kind: 'TLSEdgeModules',
  shortNames: ['tedgemod'],
  description: 'The modules of one TLS edge: who may connect, and which backend serves the connections.',
  ownerRef: 'tlsEdgeRef',
  modules: [
    { module: tlsEdgeIpRestriction, calls: (client, edgeId) => client.tlsEdgeModules(edgeId).ipRestriction },
    { module: tlsEdgeMutualTls, calls: (client, edgeId) => client.tlsEdgeModules(edgeId).mutualTls },
    { module: tlsEdgeBackend, calls: (client, edgeId) => client.tlsEdgeModules(edgeId).backend },
  ],
});
