/** TLS edges (extension): listen for TLS connections. */
import { moduleNames } from './definition/module.ts';
import { described, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { hostports } from './hostports.ts';

export const tlsEdge = resource({
  name: 'tls_edge',
  title: 'TLSEdge',
  prefix: 'edgtls',
  path: '/edges/tls',
  collection: 'tls_edges',
  tag: 'TLS edges',
  extension: true,
  description: 'Serves TLS on its hostports. Its modules say who may connect and which backend serves the connections.',
  fields: { ...described('What the edge serves.'), hostports, modules: moduleNames },
  samples: {
    least: {},
    full: { ...DESCRIBED, hostports: ['{reserved_domain.domain}:8443'] },
    change: CHANGED,
  },
});
