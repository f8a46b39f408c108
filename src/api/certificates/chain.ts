/** A TLS server's certificate chain and private key, and whether they belong together. */
import { createPrivateKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import type { z } from 'zod';
import { MAX_CHAIN_LENGTH, type tlsKeyType } from '../../resources/tls-certificate.ts';
import { unusualCurve } from './ec.ts';
import { type Read, readPem } from './pem.ts';
import { encodingOf, UNREADABLE, unsupportedType } from './private-key.ts';
import { costlyRsaKey, shortRsaKey } from './rsa.ts';
import { type Certificate, readCertificates } from './x509.ts';

export type KeyType = z.output<typeof tlsKeyType>;

export interface Chain {
  /** The server's own certificate. */
  leaf: Certificate;
  /** When the first of its certificates expires, in RFC 3339. */
  notAfter: string;
}

/**
 * A chain, or why it is refused: the server's own certificate, then issuers in any order. While an authority changes its
 * root, the same issuer is there twice, signed by the old root and by the new one.
 */
export function readChain(pem: string): Read<Chain> {
  const read = readCertificates(pem, (count) =>
    count > MAX_CHAIN_LENGTH ? `has more than ${MAX_CHAIN_LENGTH} certificates` : undefined,
  );
  if ('reason' in read) return read;
  const [leaf, ...issuers] = read.value;
  if (leaf === undefined) return { reason: 'has no certificate' };
  const stranger = firstStranger(leaf, issuers);
  if (stranger !== undefined) {
    return { reason: `certificate ${issuers.indexOf(stranger) + 2} ${strangerProblem(stranger)}; ${ORDER}` };
  }
  // All are RFC 3339 in UTC with milliseconds, so text compares as time.
  const [notAfter = leaf.notAfter] = read.value.map((certificate) => certificate.notAfter).toSorted();
  return { value: { leaf, notAfter } };
}

const ORDER = "the server's own certificate comes first, then its issuers in any order";

const strangerProblem = ({ isAuthority }: Certificate) =>
  isAuthority
    ? 'has signed neither the first nor any of its issuers: leave it out, or add what is missing between them'
    : 'is not a CA, so it is not an issuer of the first';

/**
 * Verifying takes up to 2 ms in the event loop. Few issuers have the same name, so a chain needs about one verification
 * for each certificate.
 */
const MAX_VERIFICATIONS = 2 * MAX_CHAIN_LENGTH;

/** The first issuer from which no signatures lead to the leaf. Beyond MAX_VERIFICATIONS, none counts as verified. */
function firstStranger(leaf: Certificate, issuers: readonly Certificate[]): Certificate | undefined {
  let verifications = 0;
  const isSignedBy = ({ x509 }: Certificate, issuer: Certificate) => {
    if (!issuer.isAuthority || !x509.checkIssued(issuer.x509) || verifications >= MAX_VERIFICATIONS) return false;
    verifications++;
    return x509.verify(issuer.x509.publicKey);
  };
  let strangers = issuers;
  const linked = [leaf];
  // Grows during the iteration.
  for (const signed of linked) {
    const found = strangers.filter((issuer) => isSignedBy(signed, issuer));
    linked.push(...found);
    strangers = strangers.filter((each) => !found.includes(each));
  }
  return strangers[0];
}

const LABELS = new Set(['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY']);
/** `openssl ecparam -genkey` writes the name of the curve as a block of its own before the key. */
const PARAMETERS = 'EC PARAMETERS';

export interface PrivateKey {
  key: KeyObject;
  type: KeyType;
}

/** The private key, or why it is refused. The reason never reveals any part of the key. */
export function readPrivateKey(pem: string): Read<PrivateKey> {
  const read = readPem(pem);
  if ('reason' in read) return read;
  const [block, ...others] = read.value.filter(({ label }) => label !== PARAMETERS);
  if (block === undefined || others.length > 0) return { reason: 'must be exactly one private key' };
  if (block.label === 'ENCRYPTED PRIVATE KEY') return { reason: 'is encrypted with a passphrase' };
  if (!LABELS.has(block.label)) {
    return { reason: `is a ${block.label}, not a PRIVATE KEY`, fixed: 'is not a PRIVATE KEY' };
  }
  const encoding = encodingOf(block);
  if ('reason' in encoding) return encoding;
  let key: KeyObject;
  try {
    // DER, not PEM: in PEM, OpenSSL would look for a key of any type.
    key = createPrivateKey({ key: block.der, format: 'der', type: encoding.value });
  } catch {
    return { reason: UNREADABLE };
  }
  const type = typeOf(key);
  return 'reason' in type ? type : { value: { key, type: type.value } };
}

const signing = promisify(sign);
const verifying = promisify(verify);

/**
 * Whether the certificate belongs to the private key. Comparing public keys is not enough: a key file also contains the
 * public half, and only a signature shows that the private half matches it.
 */
export async function fits({ x509 }: Certificate, { key, type }: PrivateKey): Promise<boolean> {
  if (!x509.checkPrivateKey(key)) return false;
  const digest = type === 'ed25519' ? undefined : 'sha256';
  const sample = randomBytes(32);
  try {
    return await verifying(digest, sample, x509.publicKey, await signing(digest, sample, key));
  } catch {
    return false;
  }
}

function typeOf(key: KeyObject): Read<KeyType> {
  const { asymmetricKeyType } = key;
  switch (asymmetricKeyType) {
    case 'rsa': {
      const reason = shortRsaKey(key) ?? costlyRsaKey(key);
      return reason === undefined ? { value: 'rsa' } : { reason };
    }
    case 'ec': {
      const reason = unusualCurve(key);
      return reason === undefined ? { value: 'ecdsa' } : { reason };
    }
    case 'ed25519':
      return { value: 'ed25519' };
    default:
      return { reason: unsupportedType(asymmetricKeyType) };
  }
}
