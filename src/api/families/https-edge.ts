/** HTTPS edges, their routes, and the modules of those. */
import { httpsEdge } from '../../resources/https-edge.ts';
import { httpsEdgeRoute } from '../../resources/https-edge-route.ts';
import { httpsEdgeRouteOauth } from '../../resources/https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from '../../resources/https-edge-route-oidc.ts';
import { removeWhere } from '../crud/family.ts';
import { mount } from '../crud/mount.ts';
import { mountModule } from '../crud/mount-module.ts';
import { conflict } from '../errors/errors.ts';
import type { Api } from '../http/operation.ts';
import { freeHostports, listening } from './hostports.ts';

export function httpsEdges(api: Api): void {
  const edges = mount(api, httpsEdge, {
    ...listening(api, httpsEdge),
    beforeDelete: (change, { id }) => removeWhere(change, routes, 'edge_id', id),
  });
  edges.onRemoval(freeHostports);
  const routes = mount(api, httpsEdgeRoute, {
    async explain(broken, { edge_id, match, match_type }, db) {
      if (broken.constraint !== 'https_edge_routes_match') return undefined;
      const text = 'select id from https_edge_routes where edge_id = $1 and match = $2 and match_type = $3';
      const [existing] = await db.query({ text, values: [edge_id, match, match_type] });
      const id = String(existing?.id ?? 'unknown');
      return conflict(`The edge has a route for ${match_type} ${match} already.`, { '/match': `is that of ${id}`, id });
    },
  });
  mountModule(api, routes, httpsEdgeRouteOidc);
  mountModule(api, routes, httpsEdgeRouteOauth);
}
