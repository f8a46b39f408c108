/** Requirements for a certificate that other certificates are validated against. */
import type { Read } from './pem.ts';
import { shortRsaKey } from './rsa.ts';
import { type Certificate, readCertificates } from './x509.ts';

/**
 * The certificate of an authority, or why it is refused. Expired ones are accepted: they validate nothing, but the same
 * configuration must still apply tomorrow.
 */
export function readAuthority(pem: string): Read<Certificate> {
  const read = readCertificates(pem, (count) =>
    count > 1 ? `has ${count} certificates; create one certificate authority for each` : undefined,
  );
  if ('reason' in read) return read;
  const [certificate] = read.value;
  if (certificate === undefined) return { reason: 'has no certificate' };
  if (!certificate.isAuthority) return { reason: 'is not a CA according to its basic constraints' };
  // RFC 5280, section 4.2.1.3; a certificate without the extension, as openssl req makes it, allows every use.
  if (certificate.keyUsages && !certificate.keyUsages.includes('keyCertSign')) {
    return { reason: 'may not sign certificates: its key usage lacks keyCertSign' };
  }
  const reason = keyProblem(certificate);
  return reason === undefined ? { value: certificate } : { reason };
}

/** A certificate is only as trustworthy as the key that signed it. */
function keyProblem({ x509 }: Certificate): string | undefined {
  const problem = shortRsaKey(x509.publicKey);
  return problem && `its key ${problem}`;
}
