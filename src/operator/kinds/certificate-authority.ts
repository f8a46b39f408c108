/** `CertificateAuthority`: what client certificates are checked against. A new certificate is a new resource. */
import { certificateAuthority } from '../../resources/certificate-authority.ts';
import type { View } from '../../resources/definition/resource.ts';
import { plainKind } from './plain-kind.ts';

export const certificateAuthorityKind = plainKind(certificateAuthority, {
  kind: 'CertificateAuthority',
  shortNames: ['tca'],
  calls: (client) => client.certificateAuthorities,
  sources: ['ca_pem'],
  replaced: ['ca_pem'],
  end: {
    of: (authority: View<typeof certificateAuthority>) => authority.not_after,
    remedy: 'nothing validates against it any more; put a certificate that is valid for longer into spec.caPem',
  },
  columns: ['subject_common_name', 'not_after'],
});
