/** Endpoint configurations (extension): what applies to the traffic of one kind of endpoint. */
import { z } from 'zod';
import { references } from './definition/reference.ts';
import { described, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { ipPolicy } from './ip-policy.ts';

export const MAX_IP_POLICIES = 50;

export const endpointType = z.enum(['http', 'https', 'tcp', 'tls']);

export const endpointConfiguration = resource({
  name: 'endpoint_configuration',
  title: 'EndpointConfiguration',
  prefix: 'ec',
  path: '/endpoint_configurations',
  collection: 'endpoint_configurations',
  tag: 'Endpoint configurations',
  extension: true,
  description: 'What applies to the traffic of endpoints of one type: the IP policies that check where it comes from.',
  fields: {
    ...described('What the endpoints are.'),
    // What an endpoint was bound to must not become something else under it.
    type: required(endpointType, { update: false }),
    ip_policy_ids: references([ipPolicy], 'ip_policies', { max: MAX_IP_POLICIES }),
  },
  samples: {
    least: { type: 'http' },
    full: { ...DESCRIBED, type: 'https', ip_policy_ids: ['{ip_policy.id}'] },
    change: CHANGED,
  },
});
