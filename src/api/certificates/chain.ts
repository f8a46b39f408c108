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

/** The first certificate of a chain, each signed by the next, or why the chain is refused. */
export function readChain(pem: string): Read<Certificate> {
  const read = readCertificates(pem, (count) =>
    count > MAX_CHAIN_LENGTH ? `has more than ${MAX_CHAIN_LENGTH} certificates` : undefined,
  );
  if ('reason' in read) return read;
  const [leaf, ...issuers] = read.value;
  if (leaf === undefined) return { reason: 'has no certificate' };
  let signed = leaf;
  for (const [index, issuer] of issuers.entries()) {
    const problem = `certificate ${index + 1} is not signed by certificate ${index + 2}`;
    if (!isSignedBy(signed, issuer)) return { reason: `${problem}; the server's own comes first, then its issuers` };
    signed = issuer;
  }
  return { value: leaf };
}

function isSignedBy({ x509 }: Certificate, issuer: Certificate): boolean {
  return issuer.isAuthority && x509.checkIssued(issuer.x509) && x509.verify(issuer.x509.publicKey);
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
