/**
 * X.509 certificates, read by OpenSSL first, which is strict and bounded, and then by a library that names what
 * OpenSSL only prints.
 */
import { type KeyObject, X509Certificate } from 'node:crypto';
// Must come before the next import, which needs it at load time.
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import ipaddr from 'ipaddr.js';
import type { Refusal } from '../../resources/definition/errors.ts';
import { showSecond, text } from '../../resources/formats/text.ts';
import { EXTENDED_KEY_USAGES, KEY_USAGES, type KeyUsage } from '../../resources/formats/x509-names.ts';
import { elementsOf, firstElement, TAG } from './der.ts';
import { EC_OID, unboundedCurve, unusualCurve } from './ec.ts';
import { isPrivateKey, type PemBlock, type Read, readPem } from './pem.ts';
import { costlyRsaKey } from './rsa.ts';

export interface Certificate {
  x509: X509Certificate;
  isAuthority: boolean;
  /** Undefined when the certificate does not restrict its key. */
  keyUsages: KeyUsage[] | undefined;
  extendedKeyUsages: string[];
  commonName: string | null;
  dnsNames: string[];
  ips: string[];
  /** RFC 3339. */
  notBefore: string;
  notAfter: string;
  /** Lower-case hex. */
  serialNumber: string;
}

/**
 * The certificates of a PEM text, in order.
 * @param surplus returns why that many blocks are too many. Called first, since reading each block takes time
 */
export function readCertificates(
  pem: string,
  surplus: (count: number) => string | undefined = () => undefined,
): Read<Certificate[]> {
  const read = readPem(pem);
  if ('reason' in read) return read;
  const withPosition = (index: number, { reason, fixed }: Refusal) => {
    const where = read.value.length === 1 ? '' : `block ${index + 1} `;
    return { reason: `${where}${reason}`, ...(fixed === undefined ? {} : { fixed: `${where}${fixed}` }) };
  };
  for (const [index, block] of read.value.entries()) {
    const problem = labelProblem(block);
    if (problem !== undefined) return withPosition(index, problem);
  }
  const reason = surplus(read.value.length);
  if (reason !== undefined) return { reason };
  const certificates: Certificate[] = [];
  for (const [index, block] of read.value.entries()) {
    const certificate = readCertificate(block);
    if ('reason' in certificate) return withPosition(index, certificate);
    certificates.push(certificate.value);
  }
  return { value: certificates };
}

function labelProblem(block: PemBlock): Refusal | undefined {
  if (isPrivateKey(block)) return { reason: 'is a private key; this field takes only certificates' };
  if (block.label === 'CERTIFICATE') return undefined;
  return { reason: `is a ${block.label}, not a CERTIFICATE`, fixed: 'is not a CERTIFICATE' };
}

function readCertificate(block: PemBlock): Read<Certificate> {
  try {
    const unbounded = unboundedKey(block.der);
    if (unbounded !== undefined) return { reason: `has a public key that ${unbounded}` };
    const certificate = new X509Certificate(block.der);
    if (certificate.raw.length !== block.der.length) return { reason: 'has trailing data after the certificate' };
    const undated = DATES.find(({ printed }) => printed(certificate) === NO_DATE);
    if (undated) return { reason: `has a ${undated.name} that is not a valid date` };
    const parsed = new x509.X509Certificate(block.der);
    const differing = differingDates(certificate, parsed);
    if (differing) return differing;
    const reason = keyProblem(certificate) ?? signatureProblem(certificate, parsed);
    if (reason !== undefined) return { reason };
    const value = describe(certificate, parsed);
    const names = [value.commonName ?? '', ...value.dnsNames];
    if (names.some((name) => !text().safeParse(name).success)) return { reason: 'has a name that is not valid text' };
    return { value };
  } catch {
    return { reason: 'contains no readable X.509 certificate' };
  }
}

/** Checked before OpenSSL reads the key and its curve with the certificate (RFC 5280, section 4.1). */
function unboundedKey(der: Buffer): string | undefined {
  const [toBeSigned] = elementsOf(firstElement(der));
  const [, , , , , key] = elementsOf(toBeSigned).filter(({ tag }) => tag !== TAG.explicit0);
  const [algorithm] = elementsOf(key);
  const [type, parameters] = elementsOf(algorithm);
  return type?.content.toString('hex') === EC_OID ? unboundedCurve(parameters) : undefined;
}

/** OpenSSL prints this for an invalid date; Node's `validFromDate` is then uninitialised memory. */
const NO_DATE = 'Bad time value';

const DATES = [
  {
    name: 'notBefore',
    printed: ({ validFrom }: X509Certificate) => validFrom,
    openssl: ({ validFromDate }: X509Certificate) => validFromDate,
    parsed: ({ notBefore }: x509.X509Certificate) => notBefore,
  },
  {
    name: 'notAfter',
    printed: ({ validTo }: X509Certificate) => validTo,
    openssl: ({ validToDate }: X509Certificate) => validToDate,
    parsed: ({ notAfter }: x509.X509Certificate) => notAfter,
  },
];

/** The library takes the year 1 for 1901, and reads forms that RFC 5280, section 4.1.2.5, forbids. */
function differingDates(certificate: X509Certificate, parsed: x509.X509Certificate): Refusal | undefined {
  for (const date of DATES) {
    const [one, other] = [date.openssl(certificate), date.parsed(parsed)];
    if (one.getTime() !== other.getTime()) {
      const fixed = `has a ${date.name} that different parsers read as different dates`;
      return { reason: `${fixed}: ${shown(one)} and ${shown(other)}`, fixed };
    }
  }
  return undefined;
}

const shown = (date: Date) => (Number.isNaN(date.getTime()) ? 'none' : showSecond(date.toISOString()));

/** Types with which TLS 1.3 can sign; DSA is not one of them. */
const SIGNING_KEYS = new Set(['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448']);

/** Node reads the key on access. Signatures are verified in the event loop, so the cost of the key is bounded first. */
function keyProblem(certificate: X509Certificate): string | undefined {
  let key: KeyObject;
  try {
    key = certificate.publicKey;
  } catch {
    return 'has a public key of an unknown type';
  }
  const { asymmetricKeyType = '' } = key;
  const problem = SIGNING_KEYS.has(asymmetricKeyType)
    ? (costlyRsaKey(key) ?? unusualCurve(key))
    : `is of type ${asymmetricKeyType}; it must be RSA, ECDSA, Ed25519 or Ed448`;
  return problem && `has a public key that ${problem}`;
}

/** Only the signature of a self-signed certificate can be checked here. */
function signatureProblem(certificate: X509Certificate, parsed: x509.X509Certificate): string | undefined {
  if (certificate.subject !== certificate.issuer) return undefined;
  // A CA that changes its key signs its new certificate with the old key, and names the old key (RFC 5280, 3.2 and
  // 4.2.1.1).
  const signer = parsed.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId;
  const own = parsed.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  if (signer !== undefined && signer !== own) return undefined;
  return certificate.verify(certificate.publicKey)
    ? undefined
    : 'is self-signed, but its signature does not verify with its own key';
}

function describe(openssl: X509Certificate, parsed: x509.X509Certificate): Certificate {
  const usages = parsed.getExtension(x509.KeyUsagesExtension)?.usages;
  const purposes = parsed.getExtension(x509.ExtendedKeyUsageExtension)?.usages ?? [];
  const names = parsed.getExtension(x509.SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  const named = (type: string) => names.filter((name) => name.type === type).map(({ value }) => value);
  return {
    x509: openssl,
    isAuthority: parsed.getExtension(x509.BasicConstraintsExtension)?.ca === true,
    keyUsages: usages === undefined ? undefined : KEY_USAGES.filter((_, bit) => (usages & (1 << bit)) !== 0),
    extendedKeyUsages: purposes.map((oid) => EXTENDED_KEY_USAGES[String(oid)] ?? String(oid)),
    commonName: parsed.subjectName.getField('CN')[0] ?? null,
    dnsNames: named('dns'),
    ips: named('ip').map(canonicalAddress),
    notBefore: parsed.notBefore.toISOString(),
    notAfter: parsed.notAfter.toISOString(),
    serialNumber: openssl.serialNumber.toLowerCase(),
  };
}

function canonicalAddress(address: string): string {
  const parsed = ipaddr.parse(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.toRFC5952String() : parsed.toString();
}

/** The fields that every family of certificates shows. */
export function fieldsOf(certificate: Certificate) {
  return {
    subject_common_name: certificate.commonName,
    not_before: certificate.notBefore,
    not_after: certificate.notAfter,
    key_usages: certificate.keyUsages ?? [],
    extended_key_usages: certificate.extendedKeyUsages,
  };
}
