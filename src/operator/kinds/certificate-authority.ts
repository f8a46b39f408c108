/** `CertificateAuthority`: what client certificates are checked against. A new certificate is a new resource. */
import { certificateAuthority } from '../../resources/certificate-authority.ts';
import { plainKind } from './plain-kind.ts';

export const certificateAuthorityKind = plainKind(certificateAuthority, {
  kind: 'CertificateAuthority',
  shortNames: ['tca'],
  calls: (client) => client.certificateAuthorities,
  sources: ['ca_pem'],
  replaced: ['ca_pem'],
  columns: ['subject_common_name', 'not_after'],
});
