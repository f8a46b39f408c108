/** Endpoint configurations (extension): settings for the traffic of one type of endpoint. */
import { z } from 'zod';
import { references } from './definition/reference.ts';
import { described, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { ipPolicy } from './ip-policy.ts';

export const MAX_IP_POLICIES = 50;

export const endpointType = z
  .enum(['http', 'https', 'tcp', 'tls'])
  .meta({ description: 'Type of the endpoints that the configuration is for.' });

const POLICIES = 'IP policies that source addresses are checked against.';

export const endpointConfiguration = resource({
  name: 'endpoint_configuration',
  title: 'EndpointConfiguration',
  prefix: 'ec',
  path: '/endpoint_configurations',
  collection: 'endpoint_configurations',
  tag: 'Endpoint configurations',
  extension: true,
  description:
    'Settings for endpoints of one type: the IP policies that the source addresses of their traffic are checked against.',
  fields: {
    ...described('What the endpoints are for.'),
    // A reserved domain binds a configuration by its type, so the type must not change.
    type: { ...required(endpointType, { update: false }), filterable: 'value' },
    ip_policy_ids: references([ipPolicy], 'ip_policies', POLICIES, { max: MAX_IP_POLICIES }),
  },
  samples: {
    least: { type: 'http' },
    full: { ...DESCRIBED, type: 'https', ip_policy_ids: ['{ip_policy.id}'] },
    change: CHANGED,
  },
});
