/** Which RSA keys certificates and their private keys may have. */
import type { KeyObject } from 'node:crypto';

/** The shortest that TLS libraries accept by default. */
const MIN_BITS = 2048;
/**
 * The longest that Go's crypto/tls accepts. A signature with 16,384 bits would occupy one of the few libuv threads of
 * this process for a second.
 */
const MAX_BITS = 8192;
/** The largest that Go's crypto/rsa and Windows accept; in practice it is 65537. Verification time grows with its length. */
const MAX_EXPONENT = 2n ** 31n - 1n;

export const isRsa = ({ asymmetricKeyType }: KeyObject): boolean => asymmetricKeyType?.startsWith('rsa') === true;

/** Why an RSA key is too short to be trusted; undefined for other keys. */
export function shortRsaKey(key: KeyObject): string | undefined {
  const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (!isRsa(key) || modulusLength >= MIN_BITS) return undefined;
  return `is an RSA key of ${modulusLength} bits; it must have at least ${MIN_BITS}`;
}

/** Why using an RSA key would take too long; undefined for other keys. */
export function costlyRsaKey(key: KeyObject): string | undefined {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (!isRsa(key)) return undefined;
  if (modulusLength > MAX_BITS) return `is an RSA key of ${modulusLength} bits; it may have at most ${MAX_BITS}`;
  if (publicExponent > MAX_EXPONENT)
    return `is an RSA key with an exponent above ${MAX_EXPONENT}; the usual one is 65537`;
  return undefined;
}

/**
 * Why using a private key with these numbers (without leading zeros) may take too long. OpenSSL computes with them even
 * if they do not belong together, and only its latest versions refuse numbers longer than the modulus.
 */
export function unboundedRsaKey(modulus: Buffer, numbers: Buffer[]): string | undefined {
  return numbers.some((number) => isLonger(number, modulus))
    ? 'is not a valid RSA key: one of its numbers is longer than its modulus'
    : undefined;
}

/** By bits. */
function isLonger(one: Buffer, other: Buffer): boolean {
  if (one.length !== other.length) return one.length > other.length;
  return Math.clz32(one[0] ?? 0) < Math.clz32(other[0] ?? 0);
}
