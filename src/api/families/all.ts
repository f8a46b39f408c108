/** Every family and special operation of the API. */
import { apiKey } from '../../resources/api-key.ts';
import { botUser } from '../../resources/bot-user.ts';
import { certificateAuthority } from '../../resources/certificate-authority.ts';
import { credential } from '../../resources/credential.ts';
import type { Resource } from '../../resources/definition/resource.ts';
import { endpointConfiguration } from '../../resources/endpoint-configuration.ts';
import { eventDestination } from '../../resources/event-destination.ts';
import { eventSubscription } from '../../resources/event-subscription.ts';
import { httpResponseBackend } from '../../resources/http-response-backend.ts';
import { httpsEdge } from '../../resources/https-edge.ts';
import { httpsEdgeRoute } from '../../resources/https-edge-route.ts';
import { ipPolicy } from '../../resources/ip-policy.ts';
import { ipPolicyRule } from '../../resources/ip-policy-rule.ts';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import { sshCertificateAuthority } from '../../resources/ssh-certificate-authority.ts';
import { sshHostCertificate } from '../../resources/ssh-host-certificate.ts';
import { tlsCertificate } from '../../resources/tls-certificate.ts';
import { tlsEdge } from '../../resources/tls-edge.ts';
import { tunnelGroupBackend } from '../../resources/tunnel-group-backend.ts';
import { user } from '../../resources/user.ts';
import { MODULE_SECRETS } from '../crud/module-store.ts';
import { catalogue } from '../events/catalogue.ts';
import type { Api } from '../http/operation.ts';
import type { SealedColumn } from '../secrets/rotation.ts';
import { apiKeys } from './api-key.ts';
import { certificateAuthorities } from './certificate-authority.ts';
import { credentials } from './credential.ts';
import { endpointConfigurations } from './endpoint-configuration.ts';
import { events, SIGNING_SECRETS } from './event-subscription.ts';
import { backends } from './http-response-backend.ts';
import { httpsEdges } from './https-edge.ts';
import { idempotencyKeys } from './idempotency-keys.ts';
import { ipPolicies } from './ip-policy.ts';
import { owners } from './owners.ts';
import { reservedDomains } from './reserved-domain.ts';
import { SSH_PRIVATE_KEY, sshCertificates } from './ssh-host-certificate.ts';
import { TLS_PRIVATE_KEY, tlsCertificates } from './tls-certificate.ts';
import { tlsEdges } from './tls-edge.ts';

/** The families that are mounted, in the order of the documentation. */
export const FAMILIES: readonly Resource[] = [
  ipPolicy,
  ipPolicyRule,
  credential,
  httpResponseBackend,
  tunnelGroupBackend,
  endpointConfiguration,
  reservedDomain,
  httpsEdge,
  httpsEdgeRoute,
  tlsEdge,
  eventSubscription,
  eventDestination,
  certificateAuthority,
  tlsCertificate,
  sshCertificateAuthority,
  sshHostCertificate,
  botUser,
  user,
  apiKey,
];

/** Where secrets are kept (see secrets.ts): what changing the encryption key has to seal anew. */
export const SEALED: readonly SealedColumn[] = [SIGNING_SECRETS, MODULE_SECRETS, TLS_PRIVATE_KEY, SSH_PRIVATE_KEY];

export function addOperations(api: Api): void {
  ipPolicies(api);
  credentials(api);
  backends(api);
  endpointConfigurations(api);
  reservedDomains(api);
  httpsEdges(api);
  tlsEdges(api);
  events(api, catalogue(FAMILIES));
  certificateAuthorities(api);
  tlsCertificates(api);
  sshCertificates(api);
  owners(api);
  apiKeys(api);
  idempotencyKeys(api, new Map(FAMILIES.map(({ prefix, table }) => [prefix, table])));
}
