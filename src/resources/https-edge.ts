/** HTTPS edges (extension): listen for HTTPS and route requests by path. */
import { described, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { hostports } from './hostports.ts';

export const httpsEdge = resource({
  name: 'https_edge',
  title: 'HTTPSEdge',
  prefix: 'edghts',
  path: '/edges/https',
  collection: 'https_edges',
  tag: 'HTTPS edges',
  extension: true,
  description: 'Serves HTTPS on its hostports. Its routes say which backend serves which path.',
  fields: { ...described('What the edge serves.'), hostports },
  samples: {
    least: {},
    full: { ...DESCRIBED, hostports: ['{reserved_domain.domain}:443'] },
    change: CHANGED,
  },
});
