/** The families that belong to accounts, in the order in which an account loses its resources. */
import { botUser } from '../../resources/bot-user.ts';
import { certificateAuthority } from '../../resources/certificate-authority.ts';
import { endpointConfiguration } from '../../resources/endpoint-configuration.ts';
import { eventDestination } from '../../resources/event-destination.ts';
import { httpResponseBackend } from '../../resources/http-response-backend.ts';
import { httpsEdge } from '../../resources/https-edge.ts';
import { ipPolicy } from '../../resources/ip-policy.ts';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import { sshCertificateAuthority } from '../../resources/ssh-certificate-authority.ts';
import { tlsCertificate } from '../../resources/tls-certificate.ts';
import { tunnelGroupBackend } from '../../resources/tunnel-group-backend.ts';
import { user } from '../../resources/user.ts';
import { MOUNTED, type Mounted } from '../families/all.ts';

/** Those that others refer to, each after the others. */
const REFERRED_TO: readonly string[] = [
  eventDestination,
  httpsEdge,
  reservedDomain,
  tlsCertificate,
  endpointConfiguration,
  certificateAuthority,
  httpResponseBackend,
  tunnelGroupBackend,
  ipPolicy,
  sshCertificateAuthority,
  botUser,
  user,
].map(({ table }) => table);

const rank = ({ resource }: Mounted) => REFERRED_TO.indexOf(resource.table);

/** Each before those that it refers to. */
export const IN_ORDER_OF_DELETION = MOUNTED.filter(({ resource }) => resource.access !== 'platform').toSorted(
  (one, other) => rank(one) - rank(other),
);
