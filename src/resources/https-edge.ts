/** HTTPS edges (extension): where HTTPS is served, by routes. */

import { described, resource } from './definition/resource.ts';
import { hostports } from './hostports.ts';

export const httpsEdge = resource({
  name: 'https_edge',
  title: 'HTTPSEdge',
  prefix: 'edghts',
  path: '/edges/https',
  collection: 'https_edges',
  tag: 'HTTPS edges',
  description: 'Serves HTTPS on its hostports; its routes say what is served where.',
  fields: { ...described('What the edge serves.'), hostports },
});
