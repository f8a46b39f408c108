/** What a certificate is asked for with, and how renewals name it. */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
// Must come before the next import, which needs it at load time.
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';

export type CertificateKeyType = 'rsa' | 'ecdsa';

const ALGORITHMS = {
  rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ecdsa: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
} as const;

const generate = promisify(generateKeyPair);

/** A new key for a certificate: RSA with 2,048 bits or ECDSA on P-256, as PKCS #8 in PEM. */
export async function generateCertificateKey(type: CertificateKeyType): Promise<string> {
  const { privateKey } =
    type === 'rsa' ? await generate('rsa', { modulusLength: 2048 }) : await generate('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/**
 * A request for a certificate (RFC 2986), in DER. All names are subject alternative names; there is no common name, which
 * could not be longer than 64 characters.
 */
export async function certificateRequest(keyPem: string, names: readonly string[]): Promise<Uint8Array> {
  const privateKey = createPrivateKey(keyPem);
  const algorithm = ALGORITHMS[privateKey.asymmetricKeyType === 'rsa' ? 'rsa' : 'ecdsa'];
  const keys = {
    privateKey: await imported(privateKey, 'pkcs8', algorithm, 'sign'),
    publicKey: await imported(createPublicKey(privateKey), 'spki', algorithm, 'verify'),
  };
  const alternatives = new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value })));
  const made = await x509.Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    extensions: [alternatives],
  });
  return new Uint8Array(made.rawData);
}

function imported(
  key: KeyObject,
  type: 'pkcs8' | 'spki',
  algorithm: (typeof ALGORITHMS)['rsa' | 'ecdsa'],
  use: 'sign' | 'verify',
) {
  const der = key.export({ type, format: 'der' } as const);
  return webcrypto.subtle.importKey(type, der, algorithm, true, [use]);
}

/**
 * How renewal information and orders name a certificate (RFC 9773, section 4.1).
 * @param pem the certificate; those after it are not read
 * @returns undefined if it does not name its issuer's key
 */
export function certificateId(pem: string): string | undefined {
  const certificate = new x509.X509Certificate(pem);
  const issuer = certificate.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId;
  if (issuer === undefined) return undefined;
  // DER has a leading zero byte where the first bit is set, which the number in hex does not show.
  const serial = certificate.serialNumber;
  const padded = serial.length % 2 === 1 ? `0${serial}` : serial;
  const positive = /^[89a-f]/i.test(padded) ? `00${padded}` : padded;
  return [issuer, positive].map((hex) => Buffer.from(hex, 'hex').toString('base64url')).join('.');
}
