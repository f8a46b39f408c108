/** `SSHCertificateAuthority`: a key pair that signs SSH host certificates. */
import { sshCertificateAuthority } from '../../resources/ssh-certificate-authority.ts';
import { plainKind } from './plain-kind.ts';

export const sshCertificateAuthorityKind = plainKind(sshCertificateAuthority, {
  kind: 'SSHCertificateAuthority',
  shortNames: ['sshca'],
  calls: (client) => client.sshCertificateAuthorities,
  columns: ['key_type'],
});
