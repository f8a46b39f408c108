/** Modules of TLS edges: who may connect, and what answers. */
import { certificateAuthority } from './certificate-authority.ts';
import { enabled, module } from './definition/module.ts';
import { requiredReference, requiredReferences } from './definition/reference.ts';
import { httpResponseBackend } from './http-response-backend.ts';
import { ipPolicy } from './ip-policy.ts';
import { tlsEdge } from './tls-edge.ts';
import { tunnelGroupBackend } from './tunnel-group-backend.ts';

export const MAX_MODULE_REFERENCES = 50;

/** An empty list would leave open whether it admits everyone or nobody. */
const some = { min: 1, max: MAX_MODULE_REFERENCES };

export const tlsEdgeIpRestriction = module({
  name: 'ip_restriction',
  title: 'TLSEdgeIPRestriction',
  description:
    'IP policies that decide whether a source address may connect. A deleted policy counts as one without rules.',
  of: tlsEdge,
  fields: { enabled, ip_policy_ids: requiredReferences([ipPolicy], 'ip_policies', some) },
});

export const tlsEdgeMutualTls = module({
  name: 'mutual_tls',
  title: 'TLSEdgeMutualTLS',
  description: 'Certificate authorities that client certificates are validated against.',
  of: tlsEdge,
  fields: {
    enabled,
    certificate_authority_ids: requiredReferences([certificateAuthority], 'certificate_authorities', some),
  },
});

export const tlsEdgeBackend = module({
  name: 'backend',
  title: 'TLSEdgeBackend',
  description: 'The backend that serves the edge.',
  of: tlsEdge,
  fields: { enabled, backend_id: requiredReference([tunnelGroupBackend, httpResponseBackend], 'backend') },
});
