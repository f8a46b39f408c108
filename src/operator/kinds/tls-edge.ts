/** `TLSEdge`: where TLS is served. */
import { tlsEdge } from '../../resources/tls-edge.ts';
import { plainKind } from './plain-kind.ts';

export const tlsEdgeKind = plainKind(tlsEdge, {
  kind: 'TLSEdge',
  shortNames: ['tedge'],
  calls: (client) => client.tlsEdges,
  columns: ['hostports'],
});
