/** Routes of HTTPS edges (extension): the backend for a path, and modules that restrict access to it. */
import { z } from 'zod';
import { moduleNames } from './definition/module.ts';
import { livesIn, optionalReference } from './definition/reference.ts';
import { described, field, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { requestPath } from './formats/path.ts';
import { httpResponseBackend } from './http-response-backend.ts';
import { httpsEdge } from './https-edge.ts';
import { tunnelGroupBackend } from './tunnel-group-backend.ts';

const MATCH = {
  description:
    'Path, or prefix of paths, of the requests that the route handles. Responses show its normal form: `/%7Ea` is `/~a`.',
  examples: ['/api'],
};

export const httpsEdgeRoute = resource({
  name: 'https_edge_route',
  title: 'HTTPSEdgeRoute',
  prefix: 'edghtsrt',
  path: '/edges/https/{edge_id}/routes',
  collection: 'routes',
  table: 'https_edge_routes',
  tag: 'HTTPS edges',
  extension: true,
  description: 'How an HTTPS edge handles requests for one path, or for all paths that start with a prefix.',
  parent: { of: httpsEdge, parameter: 'edge_id' },
  fields: {
    ...described('What the route serves.'),
    edge_id: livesIn(httpsEdge, 'edge', 'HTTPS edge that the route belongs to.'),
    // Responses may show what an earlier release accepted.
    match: {
      ...field(z.string().meta(MATCH), requestPath.meta(MATCH), 'required', true, null),
      unique: { within: ['edge_id', 'match_type'] },
    },
    match_type: required(
      z
        .enum(['exact_path', 'path_prefix'])
        .meta({ description: 'Whether `match` must equal the path of a request or only be a prefix of it.' }),
    ),
    backend_id: optionalReference(
      [tunnelGroupBackend, httpResponseBackend],
      'backend',
      'Backend that serves the route.',
    ),
    modules: moduleNames,
  },
  samples: {
    least: { match: '/{n}', match_type: 'path_prefix' },
    full: { ...DESCRIBED, match: '/{n}', match_type: 'exact_path', backend_id: '{http_response_backend.id}' },
    change: { ...CHANGED, match_type: 'exact_path' },
  },
});
