/** The families that belong to accounts, in the order of the documentation, under the names that the typed client uses. */
import { apiKey } from './api-key.ts';
import { botUser } from './bot-user.ts';
import { certificateAuthority } from './certificate-authority.ts';
import { credential } from './credential.ts';
import type { Resource } from './definition/resource.ts';
import { endpointConfiguration } from './endpoint-configuration.ts';
import { eventDestination } from './event-destination.ts';
import { eventSubscription } from './event-subscription.ts';
import { httpResponseBackend } from './http-response-backend.ts';
import { httpsEdge } from './https-edge.ts';
import { httpsEdgeRoute } from './https-edge-route.ts';
import { ipPolicy } from './ip-policy.ts';
import { ipPolicyRule } from './ip-policy-rule.ts';
import { reservedDomain } from './reserved-domain.ts';
import { sshCertificateAuthority } from './ssh-certificate-authority.ts';
import { sshHostCertificate } from './ssh-host-certificate.ts';
import { tlsCertificate } from './tls-certificate.ts';
import { tlsEdge } from './tls-edge.ts';
import { tunnelGroupBackend } from './tunnel-group-backend.ts';
import { user } from './user.ts';

export const accountFamilies = {
  ipPolicies: ipPolicy,
  ipPolicyRules: ipPolicyRule,
  credentials: credential,
  httpResponseBackends: httpResponseBackend,
  tunnelGroupBackends: tunnelGroupBackend,
  endpointConfigurations: endpointConfiguration,
  reservedDomains: reservedDomain,
  httpsEdges: httpsEdge,
  httpsEdgeRoutes: httpsEdgeRoute,
  tlsEdges: tlsEdge,
  eventSubscriptions: eventSubscription,
  eventDestinations: eventDestination,
  certificateAuthorities: certificateAuthority,
  tlsCertificates: tlsCertificate,
  sshCertificateAuthorities: sshCertificateAuthority,
  sshHostCertificates: sshHostCertificate,
  botUsers: botUser,
  users: user,
  apiKeys: apiKey,
} as const;

export const ACCOUNT_FAMILIES: readonly Resource[] = Object.values(accountFamilies);
