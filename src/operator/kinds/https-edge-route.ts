/** `HTTPSEdgeRoute`: how an HTTPS edge handles requests for one path, or for all paths that start with a prefix. */
import { z } from 'zod';
import { WILDCARD } from '../../resources/formats/path.ts';
import { httpsEdgeRoute } from '../../resources/https-edge-route.ts';
import { celRegExp } from '../managed/declaration/cel.ts';
import { guardable } from '../managed/declaration/spec.ts';
import { nestedCalls } from './nested-calls.ts';
import { plainKind } from './plain-kind.ts';

const hasBackend = z.object({ backendRef: z.unknown().refine(Boolean) });

export const httpsEdgeRouteKind = plainKind(httpsEdgeRoute, {
  kind: 'HTTPSEdgeRoute',
  shortNames: ['hroute'],
  calls: (client) => nestedCalls(client.httpsEdges, client.httpsEdgeRoutes, httpsEdgeRoute),
  replaced: ['edge_id'],
  spec: guardable,
  rules: [
    {
      rule: `self.matchType != 'path_prefix' || !self.match.matches(${celRegExp(WILDCARD.source)})`,
      message: 'must not have a wildcard with path_prefix: a prefix needs none, so write /shop/ instead of /shop/*',
      fieldPath: '.match',
    },
  ],
  unserved: (spec, route) => (hasBackend.safeParse(spec).success && !route?.backend ? ['backendRef'] : []),
  columns: ['edge_id', 'match', 'backend_id'],
  wideColumns: ['match_type'],
});
