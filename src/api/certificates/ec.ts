/** The curves allowed for the EC keys of certificates and for private keys. */
import type { KeyObject } from 'node:crypto';
import { type DerElement, elementsOf, numberIn, TAG } from './der.ts';

/**
 * The curves that Go's crypto/tls accepts. OpenSSL reads many more, and parameters without a name. Verifying takes up
 * to 2 ms on these (P-521) and up to 5 ms on other named curves (sect571r1). OpenSSL also recognises a key that spells
 * out the parameters of one of these curves, at the same cost.
 */
const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/** The primes of their fields. */
const PRIMES = new Set([
  (2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n).toString(16),
  (2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n).toString(16),
  `0${(2n ** 521n - 1n).toString(16)}`,
]);

/** The object identifier of EC keys (1.2.840.10045.2.1), as bytes in hex. */
export const EC_OID = '2a8648ce3d0201';

const OWN_PARAMETERS = 'is an EC key with parameters of its own; it must be on P-256, P-384 or P-521';

/**
 * Why OpenSSL must not read a curve that spells out its parameters (SEC 1, appendix C.2). Decompressing a point takes up
 * to 200 ms over a field crafted for that, but not over the usual fields. Named curves are always fine.
 */
export function unboundedCurve(parameters: DerElement | undefined): string | undefined {
  if (parameters?.tag !== TAG.sequence) return undefined;
  const [, field] = elementsOf(parameters);
  const [, prime] = elementsOf(field);
  const isKnown = prime?.tag === TAG.integer && PRIMES.has(numberIn(prime).toString('hex'));
  return isKnown ? undefined : OWN_PARAMETERS;
}

/** Why TLS libraries would not accept the curve of an EC key; undefined for other keys. */
export function unusualCurve({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  if (asymmetricKeyType !== 'ec') return undefined;
  const { namedCurve } = asymmetricKeyDetails ?? {};
  if (namedCurve !== undefined && CURVES.has(namedCurve)) return undefined;
  return namedCurve === undefined
    ? OWN_PARAMETERS
    : `is an EC key on the curve ${namedCurve}; it must be on P-256, P-384 or P-521`;
}
