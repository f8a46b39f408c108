/** Signatures of requests (RFC 7515, RFC 8555 section 6.2) and what is derived from an account's key. */
import { createHash, createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { z } from 'zod';

/** A JWS in its flattened JSON form. */
export interface Jws {
  protected: string;
  payload: string;
  signature: string;
}

const jwkSchema = z.object({ crv: z.literal('P-256'), kty: z.literal('EC'), x: z.string(), y: z.string() });
type Jwk = z.output<typeof jwkSchema>;

export interface AccountKey {
  readonly privateKey: KeyObject;
  readonly jwk: Jwk;
}

/** Binds the account to one that the authority's operator knows (RFC 8555, section 7.3.4). */
export interface ExternalAccount {
  keyId: string;
  /** base64url, as authorities hand it out. */
  hmacKey: string;
}

/** A new key for an account: ECDSA on P-256, as PKCS #8 in PEM. */
export const generateAccountKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** @throws if it is not a private key on P-256 */
export function readAccountKey(pem: string): AccountKey {
  const privateKey = createPrivateKey(pem);
  return { privateKey, jwk: jwkSchema.parse(privateKey.export({ format: 'jwk' })) };
}

/** @param payload undefined: POST-as-GET (RFC 8555, section 6.3) */
export function signRequest(
  { privateKey, jwk }: AccountKey,
  { accountUrl, nonce, url }: { accountUrl: string | undefined; nonce: string; url: string },
  payload: object | undefined,
): Jws {
  const identity = accountUrl === undefined ? { jwk } : { kid: accountUrl };
  const encoded = {
    protected: encode({ alg: 'ES256', ...identity, nonce, url }),
    payload: payload === undefined ? '' : encode(payload),
  };
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  return { ...encoded, signature: sign('sha256', Buffer.from(signed(encoded)), key).toString('base64url') };
}

export function bindExternalAccount({ keyId, hmacKey }: ExternalAccount, { jwk }: AccountKey, url: string): Jws {
  const encoded = { protected: encode({ alg: 'HS256', kid: keyId, url }), payload: encode(jwk) };
  const signature = createHmac('sha256', Buffer.from(hmacKey, 'base64url')).update(signed(encoded)).digest('base64url');
  return { ...encoded, signature };
}

/** What a challenge over HTTP is answered with (RFC 8555, sections 8.1 and 8.3). */
export const keyAuthorization = (token: string, { jwk }: AccountKey) =>
  `${token}.${sha256(JSON.stringify(thumbprint(jwk)))}`;

/** The TXT record that answers a challenge over DNS (RFC 8555, section 8.4). */
export const challengeRecord = (token: string, key: AccountKey) => sha256(keyAuthorization(token, key));

/** The members that are hashed, in this order (RFC 7638). */
const thumbprint = ({ crv, kty, x, y }: Jwk) => ({ crv, kty, x, y });

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const signed = (jws: Pick<Jws, 'protected' | 'payload'>) => `${jws.protected}.${jws.payload}`;
