/** Every kind that the operator manages. */

import type { AnyKind } from '../managed/declaration/kind.ts';
import { accountKind } from './account.ts';
import { apiKeyKind } from './api-key.ts';
import type { AttachedKind } from './attached-kind.ts';
import { botUserKind } from './bot-user.ts';
import { certificateAuthorityKind } from './certificate-authority.ts';
import { endpointConfigurationKind } from './endpoint-configuration.ts';
import { eventDestinationKind } from './event-destination.ts';
import { eventSubscriptionKind } from './event-subscription.ts';
import { httpResponseBackendKind } from './http-response-backend.ts';
import { httpsEdgeKind } from './https-edge.ts';
import { httpsEdgeRouteKind } from './https-edge-route.ts';
import { httpsEdgeRouteModulesKind } from './https-edge-route-modules.ts';
import { ipPolicyKind } from './ip-policy.ts';
import type { AnyPlainKind } from './plain-kind.ts';
import { reservedDomainKind } from './reserved-domain.ts';
import { sshCertificateAuthorityKind } from './ssh-certificate-authority.ts';
import { sshHostCertificateKind } from './ssh-host-certificate.ts';
import { tlsCertificateKind } from './tls-certificate.ts';
import { tlsEdgeKind } from './tls-edge.ts';
import { tlsEdgeModulesKind } from './tls-edge-modules.ts';
import { tunnelCredentialKind } from './tunnel-credential.ts';
import { tunnelGroupBackendKind } from './tunnel-group-backend.ts';

/** Kinds whose objects are resources of a family. */
export const kinds: readonly AnyPlainKind[] = [
  accountKind,
  ipPolicyKind,
  tunnelCredentialKind,
  botUserKind,
  apiKeyKind,
  tunnelGroupBackendKind,
  httpResponseBackendKind,
  certificateAuthorityKind,
  endpointConfigurationKind,
  httpsEdgeKind,
  httpsEdgeRouteKind,
  tlsEdgeKind,
  sshCertificateAuthorityKind,
  sshHostCertificateKind,
  eventDestinationKind,
  eventSubscriptionKind,
  tlsCertificateKind,
  reservedDomainKind,
];

/** Kinds whose objects are modules of a resource that they refer to. */
export const attachedKinds: readonly AttachedKind[] = [httpsEdgeRouteModulesKind, tlsEdgeModulesKind];

export const allKinds: readonly AnyKind[] = [...kinds, ...attachedKinds];
