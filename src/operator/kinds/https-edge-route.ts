/** `HTTPSEdgeRoute`: what an HTTPS edge does with the requests for one path, or for all paths with a prefix. */
import { httpsEdgeRoute } from '../../resources/https-edge-route.ts';
import { guardable } from '../managed/guarding.ts';
import { nestedCalls } from './nested-calls.ts';
import { plainKind } from './plain-kind.ts';

export const httpsEdgeRouteKind = plainKind(httpsEdgeRoute, {
  kind: 'HTTPSEdgeRoute',
  shortNames: ['hroute'],
  calls: (client) => nestedCalls(client.httpsEdges, client.httpsEdgeRoutes, httpsEdgeRoute),
  replaced: ['edge_id'],
  serves: ['backend_id'],
  spec: guardable,
  columns: ['edge_id', 'match', 'backend_id'],
  wideColumns: ['match_type'],
});
