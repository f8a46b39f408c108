/**
 * Classifies a private key by its bytes. When OpenSSL reads a DSA or Diffie-Hellman key, it computes the public half in
 * the event loop: up to 20 s for a key of 15 KB. So it only gets keys that are known to be cheap.
 */
import { type DerElement, elementsOf, firstElement, MalformedDer, numberIn, TAG } from './der.ts';
import { EC_OID, unboundedCurve } from './ec.ts';
import type { PemBlock, Read } from './pem.ts';
import { unboundedRsaKey } from './rsa.ts';

/** PKCS #8 (RFC 5208) of any algorithm, PKCS #1 (RFC 8017, appendix A.1.2) of RSA, SEC 1 (RFC 5915) of EC. */
type Encoding = 'pkcs8' | 'pkcs1' | 'sec1';

export const UNREADABLE = 'contains no readable private key';
export const unsupportedType = (type: string | undefined) =>
  `is a key of ${type === undefined ? 'an unknown type' : `type ${type}`}; it must be RSA, ECDSA or Ed25519`;

/** By the bytes of their object identifiers, in hex. */
const SUPPORTED: Record<string, 'rsa' | 'ec' | 'ed25519'> = {
  '2a864886f70d010101': 'rsa',
  [EC_OID]: 'ec',
  '2b6570': 'ed25519',
};
const UNSUPPORTED: Record<string, string> = {
  '2a864886f70d01010a': 'rsa-pss',
  '2a8648ce380401': 'dsa',
  '2a864886f70d010301': 'dh',
  '2a8648ce3e0201': 'dh',
  '2b656e': 'x25519',
  '2b656f': 'x448',
  '2b6571': 'ed448',
};

/** OpenSSL also accepts PKCS #8 under the label of its algorithm. */
const LABEL_OF_TYPE = { rsa: 'RSA PRIVATE KEY', ec: 'EC PRIVATE KEY', ed25519: 'PRIVATE KEY' };

/** The encoding of a key that is cheap to read and use, or why it is refused. */
export function encodingOf({ label, der }: PemBlock): Read<Encoding> {
  try {
    const members = elementsOf(firstElement(der));
    // The version. Node takes anything else here for an encrypted key.
    if (members[0]?.tag !== TAG.integer) return { reason: UNREADABLE };
    switch (members[1]?.tag) {
      case TAG.sequence:
        return readPkcs8(members, label);
      case TAG.integer:
        return label === LABEL_OF_TYPE.rsa ? readAs('pkcs1', rsaProblem(members)) : { reason: UNREADABLE };
      case TAG.octets:
        return label === LABEL_OF_TYPE.ec ? readAs('sec1', ecProblem(members)) : { reason: UNREADABLE };
      default:
        return { reason: UNREADABLE };
    }
  } catch (error) {
    if (error instanceof MalformedDer) return { reason: UNREADABLE };
    throw error;
  }
}

const readAs = (encoding: Encoding, reason: string | undefined): Read<Encoding> =>
  reason === undefined ? { value: encoding } : { reason };

function readPkcs8([, algorithm, key]: DerElement[], label: string): Read<Encoding> {
  const [identifier, parameters] = elementsOf(algorithm);
  const oid = identifier?.tag === TAG.oid ? identifier.content.toString('hex') : '';
  const type = SUPPORTED[oid];
  if (type === undefined) return { reason: unsupportedType(UNSUPPORTED[oid]) };
  if (label !== 'PRIVATE KEY' && label !== LABEL_OF_TYPE[type]) return { reason: UNREADABLE };
  if (key?.tag !== TAG.octets) return { reason: UNREADABLE };
  switch (type) {
    case 'rsa':
      return readAs('pkcs8', rsaProblem(elementsOf(firstElement(key.content))));
    case 'ec':
      return readAs('pkcs8', unboundedCurve(parameters) ?? ecProblem(elementsOf(firstElement(key.content))));
    case 'ed25519':
      return { value: 'pkcs8' };
  }
}

/** After the version, a key's numbers begin with its modulus; further primes follow in a sequence of sequences. */
function rsaProblem([, modulus, ...members]: DerElement[]): string | undefined {
  const numbers = members.flatMap((member) =>
    member.tag === TAG.sequence ? elementsOf(member).flatMap((prime) => elementsOf(prime)) : [member],
  );
  return unboundedRsaKey(numberIn(modulus), numbers.map(numberIn));
}

function ecProblem(members: DerElement[]): string | undefined {
  const parameters = members.find(({ tag }) => tag === TAG.explicit0);
  return parameters && unboundedCurve(firstElement(parameters.content));
}
