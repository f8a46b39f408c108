/** `HTTPSEdgeRoute`: how an HTTPS edge handles requests for one path, or for all paths that start with a prefix. */
import { httpsEdgeRoute } from '../../resources/https-edge-route.ts';
import { guardable } from '../managed/guarding.ts';
import { nestedCalls, partsOfId } from './nested-calls.ts';
import { plainKind } from './plain-kind.ts';

export const httpsEdgeRouteKind = plainKind(httpsEdgeRoute, {
  kind: 'HTTPSEdgeRoute',
  shortNames: ['hroute'],
  calls: (client) => nestedCalls(client.httpsEdges, client.httpsEdgeRoutes, httpsEdgeRoute),
  replaced: ['edge_id'],
  serves: ['backend_id'],
  spec: guardable,
  givenUp: (_, { id, match }) => {
    const nowhere = `/.moving/${partsOfId(id).own}`;
    return match === nowhere ? undefined : { match: nowhere };
  },
  columns: ['edge_id', 'match', 'backend_id'],
  wideColumns: ['match_type'],
});
