/** All rows, in the order of the published table. */
import type { Section } from './row.ts';
import { certificateAuthorities } from './rows/certificate-authorities.ts';
import { httpsEdges, tlsEdges } from './rows/edges.ts';
import { eventDestinations } from './rows/event-destinations.ts';
import { eventSources } from './rows/event-sources.ts';
import { eventSubscriptions } from './rows/event-subscriptions.ts';
import { events, eventTypes } from './rows/events.ts';
import { httpsEdgeRouteModuleExtensions, httpsEdgeRouteModules } from './rows/https-edge-route-modules.ts';
import { httpsEdgeRoutes } from './rows/https-edge-routes.ts';
import { ipPolicies } from './rows/ip-policies.ts';
import { sshCertificateAuthorities } from './rows/ssh-certificate-authorities.ts';
import { sshHostCertificates } from './rows/ssh-host-certificates.ts';
import { tlsCertificates } from './rows/tls-certificates.ts';
import { tlsEdgeModules } from './rows/tls-edge-modules.ts';

export const SECTIONS: readonly Section[] = [
  ipPolicies,
  certificateAuthorities,
  sshHostCertificates,
  httpsEdgeRouteModules,
  tlsEdgeModules,
  eventSubscriptions,
  eventSources,
  events,
  httpsEdges,
  httpsEdgeRoutes,
  httpsEdgeRouteModuleExtensions,
  tlsEdges,
  tlsCertificates,
  sshCertificateAuthorities,
  eventDestinations,
  eventTypes,
];
