/** The certificates of a throw-away control plane, created in this process: openssl may be missing. */
import { generateKeyPairSync, webcrypto } from 'node:crypto';
// Must come before the next import, which needs it at load time.
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority {
  /** The CA's own certificate, PEM. */
  readonly certificate: string;
  /** A client certificate: Kubernetes takes the user from the common name and the groups from the organizations. */
  issueClient(user: string, groups?: readonly string[]): Promise<KeyPair>;
  /** A server certificate for these names and addresses. */
  issueServer(commonName: string, dnsNames: readonly string[], addresses: readonly string[]): Promise<KeyPair>;
}

/** Makes a self-signed certificate authority, valid for a week. */
export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await generateKeys();
  const name = new x509.Name([{ CN: [commonName] }]);
  const usages = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature;
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name,
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity(),
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true), new x509.KeyUsagesExtension(usages, true)],
  });

  async function issue(subject: x509.JsonName, extensions: x509.Extension[]): Promise<KeyPair> {
    const own = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      subject,
      issuer: root.subjectName,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: ALGORITHM,
      ...validity(),
      extensions: [new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true), ...extensions],
    });
    const der = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
    return { certificate: certificate.toString('pem'), key: x509.PemConverter.encode(der, 'PRIVATE KEY') };
  }

  return {
    certificate: root.toString('pem'),
    issueClient: (user, groups = []) => {
      const organizations = groups.map((group) => ({ O: [group] }));
      const usage = new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]);
      return issue([...organizations, { CN: [user] }], [usage]);
    },
    issueServer: (serverName, dnsNames, addresses) => {
      const alternatives = new x509.SubjectAlternativeNameExtension([
        ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
        ...addresses.map((value) => ({ type: 'ip' as const, value })),
      ]);
      const usage = new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]);
      return issue([{ CN: [serverName] }], [usage, alternatives]);
    },
  };
}

/** The RSA key pair with which service account tokens are signed and verified, PEM. */
export function createSigningKey(): { readonly publicKey: string; readonly privateKey: string } {
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

/** A day of slack for clock skew, such as that of a virtual machine after a pause. */
function validity(): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 7 * DAY_MS) };
}
