/** HTTPS edges: their hostports, and their routes, which are deleted with them. */
import { httpsEdge } from '../../resources/https-edge.ts';
import { removeWhere } from '../crud/family.ts';
import { mount } from '../crud/mount.ts';
import { freeHostports, listening } from './hostports.ts';
import { httpsEdgeRoutes } from './https-edge-route.ts';

export const httpsEdges = mount(httpsEdge, {
  ...listening(httpsEdge),
  aboutDelete: 'Deletes its routes as well.',
  async beforeDelete(context, { id }) {
    await removeWhere(context, httpsEdgeRoutes, 'edge_id', id);
  },
});
httpsEdges.onRemoval(freeHostports);
