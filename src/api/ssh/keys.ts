/** Key pairs of SSH certificate authorities: made without blocking the event loop, and written as SSH does. */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { CURVES, type EllipticCurve, ellipticCurve, type SshKeyType } from '../../resources/formats/ssh-public-key.ts';
import { mpint, string } from '../../resources/formats/ssh-wire.ts';
import { RSA_BITS } from '../../resources/ssh-certificate-authority.ts';
import { overloaded } from '../errors/errors.ts';
import { limitConcurrency } from './limit-concurrency.ts';

const generate = promisify(generateKeyPair);

/**
 * Generating an RSA key occupies one of the few libuv threads of this process for seconds, so only a few are generated
 * at once, and only a few requests may wait.
 */
const generateRsa = limitConcurrency(() => generate('rsa', { modulusLength: RSA_BITS }), {
  running: 2,
  waiting: 8,
  refusal: () => overloaded('Too many keys are being generated; try again.'),
});

/** A new private key. Throws UNAVAILABLE while too many are being generated. */
export async function generatePrivateKey(type: SshKeyType, curve: EllipticCurve | null): Promise<KeyObject> {
  if (type === 'ed25519') return (await generate('ed25519')).privateKey;
  if (type === 'rsa') return (await generateRsa()).privateKey;
  const { openssl } = CURVES[curve ?? 'nistp256'];
  return (await generate('ec', { namedCurve: openssl })).privateKey;
}

const jwk = z.discriminatedUnion('kty', [
  z.object({ kty: z.literal('RSA'), n: z.base64url(), e: z.base64url() }),
  z.object({ kty: z.literal('EC'), crv: z.string(), x: z.base64url(), y: z.base64url() }),
  z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.base64url() }),
]);

export interface SshPublic {
  algorithm: string;
  blob: Buffer;
  /** Only for ECDSA. */
  curve: EllipticCurve | undefined;
}

/** The public half of a key (public or private), as SSH encodes it. */
export function sshPublicOf(key: KeyObject): SshPublic {
  const members = jwk.parse(key.export({ format: 'jwk' }));
  const bytes = (encoded: string) => Buffer.from(encoded, 'base64url');
  const encode = (algorithm: string, curve: EllipticCurve | undefined, ...parts: Buffer[]) => ({
    algorithm,
    blob: Buffer.concat([string(algorithm), ...parts]),
    curve,
  });
  switch (members.kty) {
    case 'RSA':
      return encode('ssh-rsa', undefined, mpint(bytes(members.e)), mpint(bytes(members.n)));
    case 'OKP':
      return encode('ssh-ed25519', undefined, string(bytes(members.x)));
    case 'EC': {
      const curve = ellipticCurve.parse(`nistp${members.crv.slice('P-'.length)}`);
      const point = Buffer.concat([Buffer.from([4]), bytes(members.x), bytes(members.y)]);
      return encode(`ecdsa-sha2-${curve}`, curve, string(curve), string(point));
    }
  }
}

/** A line of an authorized_keys file, without a comment. */
export const lineOf = (algorithm: string, blob: Buffer) => `${algorithm} ${blob.toString('base64')}`;
