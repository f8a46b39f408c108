/** `CertificateAuthority`: validates client certificates. Changing its PEM creates a new resource. */
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
    remedy: 'client certificates can no longer be validated against it; put a newer certificate into spec.caPem',
  },
  columns: ['subject_common_name', 'not_after'],
});
