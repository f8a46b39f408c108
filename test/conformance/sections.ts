/** All rows, in the order of the published table. */
import type { Section } from './row.ts';
import { certificateAuthorities } from './rows/certificate-authorities.ts';
import { httpsEdgeRouteModuleExtensions, httpsEdgeRouteModules } from './rows/https-edge-route-modules.ts';
import { ipPolicies } from './rows/ip-policies.ts';
import { sshCertificateAuthorities } from './rows/ssh-certificate-authorities.ts';
import { sshHostCertificates } from './rows/ssh-host-certificates.ts';
import { tlsEdgeModules } from './rows/tls-edge-modules.ts';

export const SECTIONS: readonly Section[] = [
  ipPolicies,
  certificateAuthorities,
  sshHostCertificates,
  httpsEdgeRouteModules,
  tlsEdgeModules,
  httpsEdgeRouteModuleExtensions,
  sshCertificateAuthorities,
];
