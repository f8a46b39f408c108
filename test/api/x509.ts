/** Certificates for tests, of any kind that a client might send. */
import { webcrypto } from 'node:crypto';
// Before the next one, which asks for it when it is loaded.
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';

export const ALGORITHMS = {
  rsa: {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  },
  rsa1024: {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 1024,
    publicExponent: new Uint8Array([1, 0, 1]),
  },
  p384: { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
  p521: { name: 'ECDSA', namedCurve: 'P-521', hash: 'SHA-512' },
  ecdsa: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  ed25519: { name: 'Ed25519' },
} as const;

export type AlgorithmName = keyof typeof ALGORITHMS;

export interface Made {
  pem: string;
  /** PKCS #8. */
  keyPem: string;
  certificate: x509.X509Certificate;
  keys: webcrypto.CryptoKeyPair;
}

export interface Wanted {
  /** As RFC 4514 writes it. */
  subject?: string;
  /** Undefined: signed by itself. */
  issuer?: Made;
  algorithm?: AlgorithmName;
  /** Null: no basic constraints at all. */
  ca?: boolean | null;
  /** Undefined: no such extension. */
  usages?: number;
  /** Whose key signs, by its identifier (hex). */
  authorityKey?: string;
  purposes?: string[];
  names?: x509.JsonGeneralNames;
  notBefore?: Date;
  notAfter?: Date;
  serialNumber?: string;
}

export const { KeyUsageFlags } = x509;

const DAY_MS = 86_400_000;

export async function makeCertificate(wanted: Wanted = {}): Promise<Made> {
  const { subject = 'CN=Test CA', issuer, algorithm = 'ecdsa', ca = true, usages, purposes, names } = wanted;
  const keys = await generate(algorithm);
  const signing = issuer?.keys ?? keys;
  const certificate = await x509.X509CertificateGenerator.create({
    ...(wanted.serialNumber === undefined ? {} : { serialNumber: wanted.serialNumber }),
    subject,
    issuer: issuer?.certificate.subjectName ?? subject,
    publicKey: keys.publicKey,
    signingKey: signing.privateKey,
    signingAlgorithm: { hash: 'SHA-256', ...signing.privateKey.algorithm },
    notBefore: wanted.notBefore ?? new Date(Date.now() - DAY_MS),
    notAfter: wanted.notAfter ?? new Date(Date.now() + 30 * DAY_MS),
    extensions: [
      ...(ca === null ? [] : [new x509.BasicConstraintsExtension(ca, undefined, true)]),
      ...(usages === undefined ? [] : [new x509.KeyUsagesExtension(usages, true)]),
      ...(wanted.authorityKey === undefined ? [] : [new x509.AuthorityKeyIdentifierExtension(wanted.authorityKey)]),
      ...(purposes === undefined ? [] : [new x509.ExtendedKeyUsageExtension(purposes)]),
      ...(names === undefined ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
    ],
  });
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const keyPem = `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`;
  return { pem: `${certificate.toString('pem')}\n`, keyPem, certificate, keys };
}

export const pemOf = (der: Buffer) => `${x509.PemConverter.encode(der, 'CERTIFICATE')}\n`;

/** The certificate with something in it, such as a date, replaced by what is as long. Its signature is not good any more. */
export function altered({ certificate }: Pick<Made, 'certificate'>, was: string, is: string): string {
  const der = Buffer.copyBytesFrom(new Uint8Array(certificate.rawData));
  const at = der.indexOf(was, 0, 'latin1');
  if (at === -1 || was.length !== is.length) throw new Error(`cannot replace ${was} by ${is}`);
  der.write(is, at, 'latin1');
  return pemOf(der);
}

async function generate(algorithm: AlgorithmName): Promise<webcrypto.CryptoKeyPair> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHMS[algorithm], true, ['sign', 'verify']);
  if (!('privateKey' in keys)) throw new Error('not a key pair');
  return keys;
}
