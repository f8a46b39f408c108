/** Modules of TLS edges: who may connect, and which backend serves the connections. */
import { certificateAuthority } from './certificate-authority.ts';
import { enabled, module } from './definition/module.ts';
import { requiredReference, requiredReferences } from './definition/reference.ts';
import { httpResponseBackend } from './http-response-backend.ts';
import { ipPolicy } from './ip-policy.ts';
import { tlsEdge } from './tls-edge.ts';
import { tunnelGroupBackend } from './tunnel-group-backend.ts';

export const MAX_MODULE_REFERENCES = 50;

/** Not empty: it would be unclear whether an empty list admits everyone or nobody. */
const some = { min: 1, max: MAX_MODULE_REFERENCES };

const POLICIES = 'IP policies that decide whether a source address may connect.';
const AUTHORITIES = 'Certificate authorities that client certificates are validated against.';
const BACKEND = 'Backend that serves the connections.';

export const tlsEdgeIpRestriction = module({
  name: 'ip_restriction',
  title: 'TLSEdgeIPRestriction',
  description:
    'Restricts which source addresses may connect. A policy that has been deleted acts as if it had no rules.',
  of: tlsEdge,
  fields: { enabled, ip_policy_ids: requiredReferences([ipPolicy], 'ip_policies', POLICIES, some) },
});

export const tlsEdgeMutualTls = module({
  name: 'mutual_tls',
  title: 'TLSEdgeMutualTLS',
  description: 'Requires clients to present a valid certificate.',
  of: tlsEdge,
  fields: {
    enabled,
    certificate_authority_ids: requiredReferences([certificateAuthority], 'certificate_authorities', AUTHORITIES, some),
  },
});

export const tlsEdgeBackend = module({
  name: 'backend',
  title: 'TLSEdgeBackend',
  description: 'Says which backend serves the connections to the edge.',
  of: tlsEdge,
  fields: { enabled, backend_id: requiredReference([tunnelGroupBackend, httpResponseBackend], 'backend', BACKEND) },
});
