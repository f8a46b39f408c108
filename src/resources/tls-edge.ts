/** TLS edges (extension): where TLS is served. */

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
  description: 'Serves TLS on its hostports; its modules decide who may connect and which backend answers.',
  fields: { ...described('What the edge serves.'), hostports, modules: moduleNames },
  samples: {
    least: {},
    full: { ...DESCRIBED, hostports: ['{reserved_domain.domain}:8443'] },
    change: CHANGED,
  },
});
