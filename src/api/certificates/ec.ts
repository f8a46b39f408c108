/** On which curves the EC keys of certificates and their private keys may be. */
import type { KeyObject } from 'node:crypto';

/**
 * Those that Go's crypto/tls takes. OpenSSL reads many more, and any parameters without a name. Of the named ones, the
 * slowest to verify with takes 5 ms (sect571r1), and the slowest of these 2 ms (P-521). A key that spells out the
 * parameters of one of these has its name, too, and costs the same.
 */
const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/** Why an EC key is on no curve that TLS libraries take, if it is an EC key and that is so. */
export function unusualCurve({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  if (asymmetricKeyType !== 'ec') return undefined;
  const { namedCurve } = asymmetricKeyDetails ?? {};
  if (namedCurve !== undefined && CURVES.has(namedCurve)) return undefined;
  const where = namedCurve === undefined ? 'with parameters of its own' : `on the curve ${namedCurve}`;
  return `is an EC key ${where}; it must be on P-256, P-384 or P-521`;
}
