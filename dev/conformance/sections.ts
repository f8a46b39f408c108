/** All rows, in the order of the published table. */
import { words } from '../../src/api/errors/naming.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { conventions } from './conventions.ts';
import type { Section } from './row.ts';
import { accounts } from './rows/accounts.ts';
import { apiKeys } from './rows/api-keys.ts';
import { authentication } from './rows/authentication.ts';
import { botUsers } from './rows/bot-users.ts';
import { certificateAuthorities } from './rows/certificate-authorities.ts';
import { commonConventions } from './rows/common-conventions.ts';
import { conditionalRequests } from './rows/conditional-requests.ts';
import { credentials } from './rows/credentials.ts';
import { httpsEdges, tlsEdges } from './rows/edges.ts';
import { endpointConfigurations } from './rows/endpoint-configurations.ts';
import { errors } from './rows/errors.ts';
import { eventDeliveries } from './rows/event-deliveries.ts';
import { eventDestinations } from './rows/event-destinations.ts';
import { eventSources } from './rows/event-sources.ts';
import { eventSubscriptions } from './rows/event-subscriptions.ts';
import { auditLog, events, eventTypes } from './rows/events.ts';
import { generalRules } from './rows/general-rules.ts';
import { httpResponseBackends } from './rows/http-response-backends.ts';
import { httpsEdgeRouteModuleExtensions, httpsEdgeRouteModules } from './rows/https-edge-route-modules.ts';
import { httpsEdgeRoutes } from './rows/https-edge-routes.ts';
import { idempotencyKeys } from './rows/idempotency.ts';
import { idempotencyScopes } from './rows/idempotency-scopes.ts';
import { ipPolicies } from './rows/ip-policies.ts';
import { ipPolicyRules } from './rows/ip-policy-rules.ts';
import { limits } from './rows/limits.ts';
import { reservedDomains } from './rows/reserved-domains.ts';
import { resourceManagers } from './rows/resource-managers.ts';
import { rolesAndScopes } from './rows/roles.ts';
import { sshCertificateAuthorities } from './rows/ssh-certificate-authorities.ts';
import { sshHostCertificates } from './rows/ssh-host-certificates.ts';
import { tlsCertificates } from './rows/tls-certificates.ts';
import { tlsEdgeModules } from './rows/tls-edge-modules.ts';
import { tunnelGroupBackends } from './rows/tunnel-group-backends.ts';
import { users } from './rows/users.ts';
import { versioning } from './rows/versioning.ts';
import { whoami } from './rows/whoami.ts';

const OWN: readonly Section[] = [
  generalRules,
  authentication,
  commonConventions,
  errors,
  versioning,
  ipPolicies,
  credentials,
  httpResponseBackends,
  reservedDomains,
  certificateAuthorities,
  sshHostCertificates,
  botUsers,
  httpsEdgeRouteModules,
  tlsEdgeModules,
  eventSubscriptions,
  eventSources,
  events,
  conditionalRequests,
  idempotencyKeys,
  idempotencyScopes,
  resourceManagers,
  ipPolicyRules,
  endpointConfigurations,
  tunnelGroupBackends,
  httpsEdges,
  httpsEdgeRoutes,
  httpsEdgeRouteModuleExtensions,
  tlsEdges,
  tlsCertificates,
  sshCertificateAuthorities,
  eventDestinations,
  eventTypes,
  auditLog,
  eventDeliveries,
  users,
  apiKeys,
  rolesAndScopes,
  accounts,
  whoami,
  limits,
];

/** A family without its own rows still has those of every family. */
const PLAIN: readonly Section[] = FAMILIES.filter((each) => OWN.every(({ family }) => family !== each)).map(
  (family) => ({
    title: family.extension ? `Extension: ${words(family.table)}` : words(family.table),
    family,
    rows: [],
  }),
);

export const SECTIONS: readonly Section[] = [...OWN, ...PLAIN].map((section) => {
  const { family, rows } = section;
  return family ? { ...section, rows: [...conventions(family), ...rows] } : section;
});
