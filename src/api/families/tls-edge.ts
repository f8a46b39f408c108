/** TLS edges and their modules. */
import { tlsEdge } from '../../resources/tls-edge.ts';
import { tlsEdgeBackend, tlsEdgeIpRestriction, tlsEdgeMutualTls } from '../../resources/tls-edge-modules.ts';
import { mount } from '../crud/mount.ts';
import { mountModule } from '../crud/mount-module.ts';
import type { Api } from '../http/operation.ts';
import { freeHostports, listening } from './hostports.ts';

export function tlsEdges(api: Api): void {
  const edges = mount(api, tlsEdge, listening(api, tlsEdge));
  edges.onRemoval(freeHostports);
  mountModule(api, edges, tlsEdgeIpRestriction);
  mountModule(api, edges, tlsEdgeMutualTls);
  mountModule(api, edges, tlsEdgeBackend);
}
