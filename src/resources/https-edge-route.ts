/** Routes of HTTPS edges (extension): the backend for a path, and modules that restrict access to it. */
import { z } from 'zod';
import { moduleNames } from './definition/module.ts';
import { livesIn, optionalReference } from './definition/reference.ts';
import { described, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { bytes, pattern } from './formats/text.ts';
import { httpResponseBackend } from './http-response-backend.ts';
import { httpsEdge } from './https-edge.ts';
import { tunnelGroupBackend } from './tunnel-group-backend.ts';

/** Characters of a path (RFC 3986, section 3.3). */
const PATH = /^\/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/;
/** Encoded dots count as well: a dot is an unreserved character (RFC 3986, section 2.3). */
const DOT_SEGMENT = /\/(?:\.|%2[Ee]){1,2}(?:\/|$)/;

const match = bytes(1024)
  .refine(
    (path) => PATH.test(path),
    'must be a path that starts with "/", without a query, with other characters percent-encoded',
  )
  .refine(
    (path) => !DOT_SEGMENT.test(path),
    'must not contain "." or ".." segments, even as %2e: no request arrives with them',
  )
  .meta({
    description: 'Path, or prefix of paths, of the requests that the route handles.',
    examples: ['/api'],
    ...pattern(
      PATH,
      'must be a path that starts with "/", without a query, with other characters percent-encoded, as in /api/v1',
    ),
  });

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
    match: { ...required(match), unique: { within: ['edge_id', 'match_type'] } },
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
