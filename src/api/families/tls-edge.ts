/** TLS edges: their hostports and modules. */
import { tlsEdge } from '../../resources/tls-edge.ts';
import { tlsEdgeBackend, tlsEdgeIpRestriction, tlsEdgeMutualTls } from '../../resources/tls-edge-modules.ts';
import { mount } from '../crud/mount.ts';
import { mountModule } from '../crud/mount-module.ts';
import { freeHostports, listening } from './hostports.ts';

export const tlsEdges = mount(tlsEdge, {
  ...listening(tlsEdge),
  aboutDelete: 'Deletes its modules as well.',
});
tlsEdges.onRemoval(freeHostports);
mountModule(tlsEdges, tlsEdgeIpRestriction);
mountModule(tlsEdges, tlsEdgeMutualTls);
mountModule(tlsEdges, tlsEdgeBackend);
