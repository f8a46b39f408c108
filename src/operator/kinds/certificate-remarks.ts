/** What users should know of a TLS certificate that works. */
import type { View } from '../../resources/definition/resource.ts';
import type { tlsCertificate } from '../../resources/tls-certificate.ts';

type Certificate = View<typeof tlsCertificate>;

/** When the first certificate of the chain expires, in RFC 3339. Chains uploaded to older releases show only their own. */
export const endOfChain = ({ chain_not_after, not_after }: Pick<Certificate, 'chain_not_after' | 'not_after'>) =>
  chain_not_after ?? not_after;

/** What expires at the end of the chain. @param named the certificate, as in `the certificate tls_…` */
export const endingFirst = (certificate: Pick<Certificate, 'chain_not_after' | 'not_after'>, named: string) =>
  endOfChain(certificate) === certificate.not_after ? named : `an issuer in the chain of ${named}`;

const SERVER_PURPOSES = ['serverAuth', 'anyExtendedKeyUsage'];

export function certificateRemarks(
  certificate: Pick<Certificate, 'chain_not_after' | 'not_after' | 'extended_key_usages'>,
): string[] {
  const { not_after, extended_key_usages: purposes } = certificate;
  const end = endOfChain(certificate);
  const forServers = purposes.length === 0 || purposes.some((purpose) => SERVER_PURPOSES.includes(purpose));
  return [
    ...(end === not_after ? [] : [`an issuer in its chain expires first, at ${end}`]),
    ...(forServers
      ? []
      : [`its extended key usage is ${purposes.join(', ')} without serverAuth, so clients refuse it from a server`]),
  ];
}
