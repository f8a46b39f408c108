/** `HTTPSEdge`: where HTTPS is served. */
import { httpsEdge } from '../../resources/https-edge.ts';
import { plainKind } from './plain-kind.ts';

export const httpsEdgeKind = plainKind(httpsEdge, {
  kind: 'HTTPSEdge',
  shortNames: ['hedge'],
  calls: (client) => client.httpsEdges,
  columns: ['hostports'],
});
