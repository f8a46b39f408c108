/** TLS edges (extension): where TLS is served. */
import { hostports } from './hostport.ts';
import { moduleNames } from './module.ts';
import { described, resource } from './resource.ts';

export const tlsEdge = resource({
  name: 'tls_edge',
  title: 'TLSEdge',
  prefix: 'edgtls',
  path: '/edges/tls',
  collection: 'tls_edges',
  tag: 'TLS edges',
  description: 'Serves TLS on its hostports; its modules say from whom, for whom and by what.',
  fields: { ...described('What the edge serves.'), hostports, modules: moduleNames },
});
